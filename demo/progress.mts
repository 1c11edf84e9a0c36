const WIDTH = 16;
const LABEL = 22;
const REDRAW_MS = 100;
const terminal = process.stdout.isTTY === true;

interface Line {
	label: string;
	/** Unknown until the service says one; of images and videos it never does. */
	percentage?: number;
	state: string;
}

/**
 * One progress bar per item, drawn in place on a terminal and line by line elsewhere. It is fed with
 * what the node reports to the browser: "Item 0: task 12: 43 %".
 */
export class Bars {
	private readonly began = performance.now();
	private readonly lines: Line[];
	private readonly redraw = terminal ? setInterval(() => this.draw(), REDRAW_MS) : undefined;

	constructor(labels: string[]) {
		this.lines = labels.map((label) => ({ label, state: 'waiting' }));
		if (terminal) process.stdout.write('\n'.repeat(labels.length));
	}

	show(message: string): void {
		const [, index, text, percentage] =
			/^Item (\d+): (.*?)(?:: ([\d.]+) ?%)?$/s.exec(message) ?? [];
		const line = this.lines[Number(index)];
		if (!line || text === undefined) return;
		line.state = text;
		if (percentage !== undefined) line.percentage = Number(percentage);
		if (!terminal) console.log(`  ${this.textOf(line)}`);
	}

	/** The run is over: every item is done, or none goes on. */
	finish(succeeded: boolean): void {
		clearInterval(this.redraw);
		if (succeeded)
			for (const line of this.lines) Object.assign(line, { percentage: 100, state: 'done' });
		if (terminal) this.draw();
	}

	private draw(): void {
		const columns = process.stdout.columns - 3;
		const texts = this.lines.map((line) => `\x1b[2K  ${this.textOf(line).slice(0, columns)}\n`);
		process.stdout.write(`\x1b[${texts.length}A${texts.join('')}`);
	}

	private textOf({ label, percentage, state }: Line): string {
		const seconds = `${((performance.now() - this.began) / 1000).toFixed(1)} s`;
		const bar = '█'.repeat(Math.round((WIDTH * (percentage ?? 0)) / 100)).padEnd(WIDTH, '░');
		const figure = percentage === undefined ? '' : `${Math.round(percentage)} %`;
		return `${bar} ${figure.padStart(5)} ${seconds.padStart(6)}  ${label.padEnd(LABEL).slice(0, LABEL)}  ${state}`;
	}
}
