import { fileNames } from '../../nodes/shared/generation/entryFiles';

test('no file has the name of another, whatever their IDs', () => {
	const files = ['a', 'a', 'a-2', 'b'].map((id) => ({
		id,
		fileUrl: 'https://x.test/f.mp4',
		raw: {},
	}));
	const names = fileNames(files);
	expect(names).toEqual(['a', 'a-2', 'a-2-2', 'b']);
});
