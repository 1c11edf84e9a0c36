const WIDTH = 16;
const LABEL = 22;
const REDRAW_MS = 100;
const terminal = process.stdout.isTTY === true;
const columns = () => process.stdout.columns ?? 100;

interface Line {
	label: string;
	/** Unknown until the service says one; of images and videos it never does. */
	percentage?: number;
	state: string;
	since: number;
	/** Milliseconds it took, once it is over. */
	took?: number;
}

/**
 * One progress bar per item, drawn in place on a terminal and line by line elsewhere. It is fed with
 * what the node reports to the browser: "Item 0: task 12: 43 %".
 */
export class Bars {
	private readonly lines = new Map<number, Line>();
	private drawn = 0;
	private readonly redraw = terminal ? setInterval(() => this.draw(), REDRAW_MS) : undefined;

	private readonly labels: string[];

	constructor(labels: string[]) {
		this.labels = labels;
		labels.forEach((label, index) => this.lines.set(index, newLine(label)));
		this.draw();
	}

	show(message: string): void {
		const [, index, text] = /^Item (\d+): (.*)$/s.exec(message) ?? [];
		if (index === undefined || text === undefined) return;
		const line = this.line(Number(index));
		const [, task, percentage] = /^(.*): (\d+(?:\.\d+)?) ?%$/.exec(text) ?? [];
		line.state = task ?? text;
		if (percentage !== undefined) line.percentage = Number(percentage);
		if (terminal) this.draw();
		else console.log(`  ${this.textOf(line)}`);
	}

	/** The run is over: every item is done, or none goes on. */
	finish(succeeded: boolean): void {
		clearInterval(this.redraw);
		for (const line of this.lines.values()) {
			line.took ??= performance.now() - line.since;
			if (succeeded) Object.assign(line, { percentage: 100, state: 'done' });
		}
		this.draw();
	}

	private line(index: number): Line {
		const line = this.lines.get(index) ?? newLine(this.labels[index] ?? `Item ${index}`);
		this.lines.set(index, line);
		return line;
	}

	private draw(): void {
		if (!terminal) return;
		const up = this.drawn ? `\x1b[${this.drawn}A` : '';
		const text = [...this.lines.values()]
			.map((line) => `\x1b[2K  ${this.textOf(line).slice(0, columns() - 3)}\n`)
			.join('');
		process.stdout.write(up + text);
		this.drawn = this.lines.size;
	}

	private textOf({ label, percentage, state, since, took }: Line): string {
		const elapsed = took ?? performance.now() - since;
		const figure = percentage === undefined ? '     ' : `${Math.round(percentage)} %`;
		const seconds = `${(elapsed / 1000).toFixed(1)} s`;
		const figures = `${figure.padStart(5)} ${seconds.padStart(6)}`;
		return `${bar(percentage, elapsed)} ${figures}  ${label.padEnd(LABEL).slice(0, LABEL)}  ${state}`;
	}
}

/** A bar that is filled, or one through which a block wanders while nothing is known. */
function bar(percentage: number | undefined, elapsed: number): string {
	if (percentage !== undefined) {
		const full = Math.round((WIDTH * percentage) / 100);
		return '█'.repeat(full) + '░'.repeat(WIDTH - full);
	}
	const block = 4;
	const at = terminal ? Math.floor(elapsed / REDRAW_MS) % (WIDTH - block + 1) : 0;
	return '░'.repeat(at) + '▒'.repeat(block) + '░'.repeat(WIDTH - block - at);
}

const newLine = (label: string): Line => ({
	label,
	state: 'waiting',
	since: performance.now(),
});
