import { startS3 } from '../../tools/servers/s3.mts';
import { startSftp } from '../../tools/servers/sftp.mts';
import { startWebDav } from '../../tools/servers/webDav.mts';
import type { Account } from '../account.mts';
import type { N8n } from '../n8n.mts';
import { mebibytes, row, type Cell, type Table } from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';
import { workflowOf, type Step } from '../workflow.mts';

const MEBIBYTE = 1024 ** 2;
const SIZE = 256 * MEBIBYTE;
const BUCKET = 'bench.files';
const FILE = 'video.mp4';

const MODES = [
	{ name: 'Binary data in files', mode: 'filesystem' },
	{ name: 'Binary data in the database', mode: 'database' },
];

/** A node of n8n's that stores the file, and its credential. */
interface Store {
	name: string;
	step?: Omit<Step, 'name' | 'credentials'>;
	credential?: [type: string, data: object];
}

const startServers = async () => ({
	s3: await startS3(BUCKET),
	sftp: await startSftp(),
	webDav: await startWebDav(),
});

function storesOf({ s3, sftp, webDav }: Awaited<ReturnType<typeof startServers>>): Store[] {
	const base = (type: string, typeVersion: number, parameters: Step['parameters']) => ({
		type: `n8n-nodes-base.${type}`,
		typeVersion,
		parameters,
	});
	const binary = { binaryPropertyName: 'data' };
	const upload = { resource: 'file', operation: 'upload' };
	const toBucket = { ...upload, ...binary, bucketName: BUCKET, binaryData: true };
	const generic = { endpoint: s3.url, forcePathStyle: true, ignoreSSLIssues: false };
	const toDisk = { operation: 'write', fileName: `.n8n-files/${FILE}`, dataPropertyName: 'data' };
	const toSftp = { ...binary, protocol: 'sftp', operation: 'upload', path: FILE };
	const toWebDav = { ...upload, ...binary, binaryDataUpload: true, path: FILE };
	return [
		{ name: 'none: the Media Generation node alone' },
		{ name: 'Read/Write Files from Disk', step: base('readWriteFile', 1.1, toDisk) },
		{
			name: 'AWS S3',
			step: base('awsS3', 2, { ...toBucket, fileName: `aws-${FILE}` }),
			credential: ['aws', s3.credential],
		},
		{
			name: 'S3, the generic one',
			step: base('s3', 1, { ...toBucket, fileName: `generic-${FILE}` }),
			credential: ['s3', { ...s3.credential, ...generic }],
		},
		{
			name: 'FTP, by SFTP',
			step: base('ftp', 1.1, toSftp),
			credential: ['sftp', sftp.credential],
		},
		{
			name: 'Nextcloud, by WebDAV',
			step: base('nextCloud', 1, toWebDav),
			credential: ['nextCloudApi', webDav.credential],
		},
	];
}

/** By how many bytes n8n's memory in use grows at most while a file is made and stored; why not. */
async function costOf(
	n8n: N8n,
	{ baseUrl, token: apiToken }: Account,
	{ name, step, credential }: Store,
): Promise<Cell> {
	const own = await n8n.credential('mediaGenerationApi', { baseUrl, apiToken });
	const make: Step = {
		name: 'Make',
		type: 'n8n-nodes-media-generation.mediaGeneration',
		typeVersion: 1,
		parameters: { resource: 'video', operation: 'textToVideo', prompt: '={{ $json.text }}' },
		credentials: { mediaGenerationApi: own },
	};
	const steps = [make];
	if (step) {
		const credentials = credential && { [credential[0]]: await n8n.credential(...credential) };
		steps.push({ ...step, name: 'Store', ...(credentials && { credentials }) });
	}
	const path = name.replace(/\W+/g, '-').toLowerCase();
	// Its items have no files, which would be looked for on the disk.
	const workflow = await n8n.publish(workflowOf(path, steps, undefined, 'Items'));
	const text = `[sim:slow=0.5] [sim:big-file=${SIZE / MEBIBYTE}] A long video.`;
	const before = await n8n.memoryInUse();
	await n8n.peakInUse();
	await n8n.run(workflow, [text]);
	const peak = await n8n.peakInUse();
	const [execution] = await n8n.executions(workflow);
	await n8n.forget(workflow);
	if (execution?.error) return `fails: ${execution.error}`;
	return peak - before;
}

/** Memory that it costs to make a large file and hand it to one of n8n's storage nodes. */
export async function measureStorage(setting: Setting): Promise<Table> {
	const account = setting.account();
	const servers = await startServers();
	const columns: Cell[][] = [];
	try {
		for (const { mode } of MODES) {
			const n8n = await setting.startN8n({ N8N_DEFAULT_BINARY_DATA_MODE: mode });
			await settled(n8n);
			const cells: Cell[] = [];
			for (const store of storesOf(servers)) cells.push(await costOf(n8n, account, store));
			columns.push(cells);
			await setting.leave(n8n);
		}
	} finally {
		for (const server of Object.values(servers)) await server.stop();
	}
	const cellsOf = (index: number) => columns.map((cells) => cells[index]!);
	const rows = storesOf(servers).map(({ name }, index) => row(name, cellsOf(index), mebibytes));
	const about =
		`By how much the memory that n8n uses grows at its peak while a video of ${mebibytes(SIZE)} is ` +
		'made and stored, garbage included, which is collected before each. Looked at every 10 ms. What ' +
		'stays near the first row streams the file; what lies above it by most of its size holds it in ' +
		'memory. With binary data in the database, the default of queue mode, n8n itself holds every file.';
	return {
		title: 'Memory that a storage node costs',
		about,
		columns: MODES.map(({ name }) => name),
		rows,
	};
}
