import type { Operation } from '../../run/operation';

/** Account → Get (§4.10): returns the account as the service sends it. */
export const getAccount: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: "Get the account's remaining quota or credit",
		action: 'Get account quota or credit',
	},
	fields: [],
	prepare:
		({ api, stopStarting, output }) =>
		async () => [output(await api.getAccount(stopStarting))],
};
