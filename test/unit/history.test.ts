import type { ServiceRecord } from '../../nodes/service/contract';
import { HistoryWatch } from '../../nodes/service/history';
import type { Requests } from '../../nodes/service/requests';

const SINCE = Date.parse('2026-01-01T10:00:00Z');
const never = new AbortController().signal;

/** A service whose history is these pages; counts how often it is asked. */
function historyOf(pages: ServiceRecord[][]) {
	let asked = 0;
	const histories = async ({ page }: { page: number }) => {
		asked++;
		return { items: pages[page - 1] ?? [], bare: false, clockOffsetMs: 0 };
	};
	return { watch: new HistoryWatch({ histories } as unknown as Requests), asked: () => asked };
}
const entries = (count: number, first: number, secondsAfter: number) =>
	Array.from({ length: count }, (_, index) => ({
		id: `e${first + index}`,
		created_at: new Date(SINCE + secondsAfter * 1000).toISOString(),
	}));

describe('a look into the history', () => {
	it('holds an entry once although a new one has shifted the pages meanwhile', async () => {
		const newer = entries(100, 0, 60);
		const { watch, asked } = historyOf([newer, [newer[99]!, ...entries(99, 100, -60)]]);
		const { items } = await watch.newest(SINCE, never);
		expect(asked()).toBe(2);
		expect(items.filter(({ id }) => id === 'e99')).toHaveLength(1);
	});

	it('goes no further back than the request, and serves all who ask at once', async () => {
		const { watch, asked } = historyOf([entries(100, 0, -60), entries(100, 100, -120)]);
		await Promise.all([watch.newest(SINCE, never), watch.newest(SINCE + 1000, never)]);
		expect(asked()).toBe(1);
	});
});
