/** A bar for each contender, the one of this package first. */
export interface Panel {
	title: string;
	note: string;
	bars: Array<{ name: string; value: number; shown: string }>;
}

const WIDTH = 860;
const MARGIN = 24;
const GAP = 32;
const COLUMN = (WIDTH - 2 * MARGIN - GAP) / 2;
const NAME = 128;
const SHOWN = 64;
const BAR = 16;
const STEP = 26;
const HEAD = 52;

const STYLE = `
	.card { fill: #ffffff; stroke: #d0d7de; }
	text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
	.title { font-weight: 600; font-size: 15px; }
	.note { font-size: 12px; fill: #59636e; }
	.bar { fill: #8c959f; }
	.own { fill: #0a7d5a; }
	@media (prefers-color-scheme: dark) {
		.card { fill: #0d1117; stroke: #30363d; }
		text { fill: #e6edf3; }
		.note { fill: #9198a1; }
		.bar { fill: #6e7681; }
		.own { fill: #2fbf8f; }
	}`;

const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function panelAt({ title, note, bars }: Panel, x: number, y: number): string {
	const most = Math.max(...bars.map(({ value }) => value));
	const room = COLUMN - NAME - SHOWN;
	const lines = bars.map(({ name, value, shown }, index) => {
		const top = HEAD + index * STEP;
		// A bar of no length would look like one that is missing.
		const length = Math.max(2, (value / most) * room);
		return `
		<text x="${NAME - 8}" y="${top + 13}" text-anchor="end">${escaped(name)}</text>
		<rect class="${index === 0 ? 'own' : 'bar'}" x="${NAME}" y="${top}" width="${length.toFixed(1)}" height="${BAR}" rx="3"/>
		<text x="${(NAME + length + 6).toFixed(1)}" y="${top + 13}">${escaped(shown)}</text>`;
	});
	return `
	<g transform="translate(${x} ${y})">
		<text class="title" y="16">${escaped(title)}</text>
		<text class="note" y="36">${escaped(note)}</text>${lines.join('')}
	</g>`;
}

/** A picture of panels, two in a row, that can be read on light and dark pages. */
export function chart(label: string, panels: Panel[]): string {
	const heights = panels.map(({ bars }) => HEAD + bars.length * STEP);
	let y = MARGIN;
	let content = '';
	for (let at = 0; at < panels.length; at += 2) {
		const row = panels.slice(at, at + 2);
		row.forEach((panel, index) => {
			content += panelAt(panel, MARGIN + index * (COLUMN + GAP), y);
		});
		y += Math.max(...heights.slice(at, at + 2)) + MARGIN;
	}
	const height = y - MARGIN / 2;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(label)}">
	<style>${STYLE}
	</style>
	<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>${content}
</svg>
`;
}
