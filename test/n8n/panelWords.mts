/** What people type in n8n's node panel who want the action node. */
export const IN_PANEL =
	`text to video; image to video; text to image; generate image; generate video; speak;
	narration; voiceover; sound; audio; tts; podcast; video; image; voice over; text-to-speech; read aloud;
	mp3; subtitles; make a video; video from image; animate image; avatar; history; quota; wait for task;
	task completed; new video; audiobook; ai voice; create image; speech; credits; picture;
	text to speech`.split(/;\s+/);
