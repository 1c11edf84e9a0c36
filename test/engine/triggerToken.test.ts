import { requests } from './service';
import { fakeTime, sim } from './setup';
import { activate, listenByHand } from './triggerSetup';

/* Many triggers of one account, and the one token they have in common. */

const TRIGGERS = 20;
const checks = () => requests('GET', '/v1/video/me').length;

/** Lets seconds pass, as long as `goesOn`; returns how many did. */
async function pass(seconds: number, goesOn = () => true): Promise<number> {
	for (let passed = 0; passed < seconds; passed++) {
		if (!goesOn()) return passed;
		await jest.advanceTimersByTimeAsync(1000);
		// What a second brings about over the network must not be overtaken by the next one.
		for (let turn = 0; turn < 2; turn++) await fetch(`${sim.baseUrl}/nothing`);
	}
	return seconds;
}

const activateAll = async () =>
	await Promise.all(Array.from({ length: TRIGGERS }, async () => await activate()));

describe('twenty triggers of one account', () => {
	it('ask five times a minute at most, while WebSockets are blocked', async () => {
		sim.setWebSocketMode('refuse');
		fakeTime();
		await activateAll();
		await pass(60);
		expect(checks()).toBeLessThanOrEqual(5);
		await pass(120);
		expect(checks()).toBeGreaterThanOrEqual(3);
		expect(checks()).toBeLessThanOrEqual(15);
	});

	it('all end soon after the token was revoked', async () => {
		fakeTime();
		const triggers = await activateAll();
		await sim.waitFor(() => sim.sockets() === 1);
		await pass(1);
		sim.revoke(sim.token);
		const lasts = () => triggers.some(({ errors }) => errors.length === 0);
		expect(await pass(30, lasts)).toBeLessThanOrEqual(15);
		for (const { errors } of triggers) expect(errors[0]?.message).toMatch(/refused the API token/);
		expect(checks()).toBeLessThanOrEqual(5);
	});
});

test('a person who listens by hand has the token checked at once, whatever was known of it', async () => {
	await activate();
	const before = checks();
	const listening = await listenByHand();
	await listening.start();
	expect(checks()).toBe(before + 1);
	await listening.close();
});
