"""The length in ms that VLC shows of each file."""
import sys
import threading
import vlc

library = vlc.Instance('--quiet', '--no-video')
for path in sys.argv[1:]:
    media = library.media_new_path(path)
    parsed = threading.Event()
    media.event_manager().event_attach(vlc.EventType.MediaParsedChanged, lambda _: parsed.set())
    media.parse_with_options(vlc.MediaParseFlag.local, -1)
    parsed.wait()
    print(media.get_duration())
