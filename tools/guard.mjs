/*
 * node tools/guard.mjs GROUP: ends a group of processes once whoever started this one is gone, even by
 * kill -9: nobody else could, since the group is detached. Its standard input tells.
 */
const GRACE_MS = 5000;
const group = Number(process.argv[2]);

const kill = (signal) => {
	try {
		process.kill(-group, signal);
	} catch {
		process.exit();
	}
};

// Ctrl+C is for the one that is guarded against, which ends the group by itself.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});

process.stdin.resume().on('close', () => {
	kill('SIGTERM');
	setTimeout(() => {
		kill('SIGKILL');
		process.exit();
	}, GRACE_MS);
});
