import { FailedResult, withOtherFileUrls } from '../../nodes/MediaGeneration/run/itemTask';
import { Failure } from '../../nodes/shared/failure';
import { wordingOf } from '../../nodes/shared/n8n/messages';

test('a file that failed is named with the others, and not with entries that have none', () => {
	const failure = new Failure('downloadFailed', { fileUrl: 'https://files.example/a' });
	const made = [{ json: { id: 1 } }, { json: { file_url: 'https://files.example/b' } }];
	const told = withOtherFileUrls(failure, [...made, new FailedResult(failure)]) as Failure;
	expect(wordingOf(told).description).toBe(
		'The request has been charged. Get its files with History → Get Many, or here: https://files.example/a , https://files.example/b',
	);
});
