import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './certificate.mts';
import type { Handler } from '../service/fakeService.mts';
import { always, IMAGE, on, READING, row, SPEAK, VIDEO, WITH_IMAGES, type Row } from './row.mts';
import type { Stage } from './stage.mts';

const at = (baseUrl: string) => ({ credential: { baseUrl } });
const unsent = { sent: 0, paid: 0 };
const MAY_BE_CHARGED = 'may have been charged';

const network: Row[] = [
	row('The connection is refused', [SPEAK, VIDEO, 'account:get'], {
		isLong: true,
		// No server listens on this port.
		setting: at('http://127.0.0.1:1'),
		...unsent,
		fails: "refused the connection…Check 'Base URL'",
		note: "the node retries for some seconds, since the service can't have accepted anything",
	}),
	row('The connection is refused throughout, while a task is being collected', ['speech:wait'], {
		setting: { ...at('http://127.0.0.1:1'), options: { timeout: 2 } },
		...unsent,
		fails: "refused the connection…Check 'Base URL'…Speech → Collect with task ID",
		note: 'this happens when the **Timeout** is over',
	}),
	row('The host name is unknown', [SPEAK, VIDEO, 'account:get'], {
		setting: at('https://no-such-host.invalid'),
		...unsent,
		fails: "no-such-host.invalid could not be found on the network…Check 'Base URL'",
	}),
	row('The certificate is self-signed', [SPEAK, VIDEO, 'account:get'], {
		make: async (stage) => {
			const server = createServer(selfSigned(), (_, response) => void response.end('{}'));
			await once(server.listen(0, '127.0.0.1'), 'listening');
			stage.onClose(() => void server.close());
			return at(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
		},
		...unsent,
		fails: 'does not present a certificate that n8n trusts',
	}),
	row(
		'The service speaks HTTP, but Base URL begins with `https://`',
		[SPEAK, VIDEO, 'account:get'],
		{
			make: ({ sim }) => at(sim.baseUrl.replace('http:', 'https:')),
			...unsent,
			fails: 'does not present a certificate that n8n trusts…the service may use http://',
		},
	),
	row('The create call is reset before any response, and was not accepted', [SPEAK], {
		faults: [{ ...on.create, ...always, action: { reset: true } }],
		fails: `did not respond…${MAY_BE_CHARGED}`,
		paid: 0,
	}),
	row('The create call is reset before any response, but was accepted', [VIDEO, IMAGE], {
		make: accepted(({ socket }) => socket.resetAndDestroy()),
		hints: 'searched the history instead of requesting it again',
	}),
	{
		fault: 'The create call is reset before any response, but was accepted; it contains images',
		operations: WITH_IMAGES,
		setting: { options: { timeout: 15 } },
		make: accepted(({ socket }) => socket.resetAndDestroy()),
		fails: 'result did not arrive…may be the result…may have been charged…only looks again',
		note: 'the service never sent its ID, and someone else may have used the same prompt',
	},
	row('A read request is reset before any response', [SPEAK, ...READING, 'speech:delete'], {
		faults: [
			{ ...on.read, action: { reset: true } },
			{ method: 'DELETE', action: { reset: true } },
		],
	}),
	row('The server restarts while the node waits', [SPEAK], {
		service: { pace: 0.1 },
		...restarted((stage) => stage.waitForMessage(/created$/)),
	}),
	row('The server restarts during a generation stream', [VIDEO, IMAGE], {
		service: { pace: 0.02 },
		...restarted((stage) => stage.sim.waitFor(() => stage.paid === 1)),
		hints: 'searched the history',
	}),
];

/** Restarts the server once `waitUntilDue` has resolved. */
function restarted(waitUntilDue: (stage: Stage) => Promise<void>): Pick<Row, 'make' | 'during'> {
	return {
		make: async (stage) => void (await stage.proxy()),
		during: async (stage) => {
			await waitUntilDue(stage);
			await (await stage.proxy()).restart(400);
		},
	};
}

/** The create call is accepted, but answered only once its result is in the history, and then by `handle`. */
export function accepted(handle: Handler): Row['make'] {
	return async (stage) => {
		const proxy = await stage.proxy();
		proxy.on(/^POST \/v1\/video/, async (request, response) => {
			proxy.forward(request);
			await stage.sim.waitFor(() => stage.sim.history.length > 0);
			handle(request, response);
		});
	};
}

export const NETWORK = [{ title: 'Network', rows: network }];
