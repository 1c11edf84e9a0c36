import type { INodeExecutionData } from 'n8n-workflow';
import { digestOf, itemIdentity } from '../../nodes/MediaGeneration/paid/idempotencyKey';

const PNG = { mimeType: 'image/png', fileName: 'a.png', data: 'filesystem', id: 'fs:1' };
const withFile = (file: object): INodeExecutionData => ({ json: {}, binary: { a: file as never } });
const digestOfItem = (item: INodeExecutionData) => digestOf(itemIdentity(item));

test.each<[string, object, object, isSame: boolean]>([
	['the id', {}, { id: 'fs:2' }, true],
	['the name', {}, { fileName: 'b.png' }, false],
	['the type', {}, { mimeType: 'image/gif' }, false],
	['the size', { bytes: 1 }, { bytes: 2 }, false],
	['how the size is written', { bytes: 1 }, { bytes: 1, fileSize: '1 B' }, true],
	['the size, by an old n8n', { fileSize: '1 B' }, { fileSize: '2 B' }, false],
	['its content in memory', { data: 'AAAA' }, { data: 'AAAAAAAA' }, false],
])('a file of which %s is another one: %j, %j', (_, one, other, isSame) => {
	const [first, second] = [one, other].map((file) => digestOfItem(withFile({ ...PNG, ...file })));
	expect(first === second).toBe(isSame);
});

test('what a Code node makes of an item is an item like any other', () => {
	const circular: INodeExecutionData['json'] = {};
	circular.self = circular;
	const items = [{ json: circular }, withFile(null!), {} as INodeExecutionData];
	expect(new Set(items.map(digestOfItem)).size).toBe(3);
	expect(digestOfItem({} as INodeExecutionData)).toBe(digestOfItem({ json: {} }));
});
