import type { FaultAction } from '../../simulator/simulator.mts';
import { PAGE } from '../service/bodies.mts';
import { expectServed, good } from './seen';
import { ALWAYS, answer, onFile, posts } from './service';
import { EACH, run, sim, start, video } from './setup';

test.each<[string, FaultAction]>([
	['200 and JSON', answer(200, { error: 'Link expired' })],
	[
		'200 and XML',
		answer(200, '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', {
			'Content-Type': 'application/xml',
		}),
	],
	['200 and a page', answer(200, PAGE, { 'Content-Type': 'text/html' })],
	['a redirect to a page', { redirect: '/files/page' }],
	['200 and nothing', answer(200, '', { 'Content-Type': 'video/mp4' })],
	['402', answer(402, { error: 'expired' })],
	['416', answer(416, '')],
	['451', answer(451, '')],
])(
	'"Retry execution" the next morning has expired addresses signed anew: %s',
	async (_, refusal) => {
		await start({ pace: 0.01 });
		const subject = video(EACH);
		const items = 'abc'.split('').map((t) => ({ t }));
		onFile({ redirect: '/files/around' }, ALWAYS);
		const { run: failed } = await run(subject, { items });
		await sim.waitFor(
			() => sim.history.filter(({ status }) => status === 'completed').length === 3,
		);
		sim.clearFaults();
		onFile(answer(200, PAGE, { 'Content-Type': 'text/html' }), { path: '/files/page', ...ALWAYS });
		onFile(refusal, { path: '/files/expired/', ...ALWAYS });
		const kept = JSON.stringify(failed).replaceAll('/files/video/', '/files/expired/');
		const result = await run(subject, { retryOf: JSON.parse(kept) });
		const made = good(result);
		for (const item of made) await expectServed(result, item);
		expect(posts()).toBe(3);
	},
	120_000,
);
