import type { Operation } from '../../run/itemContext';

/** Account → Get (§4.10): the record as the service has it. */
export const getAccount: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: "Get the account's remaining quota or credit",
		action: 'Get account quota or credit',
	},
	fields: [],
	prepare:
		({ api, signal, output }) =>
		async () => [output(await api.getAccount(signal))],
};
