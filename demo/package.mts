import { fileURLToPath } from 'node:url';
import type { ICredentialType, INodeType, INodeTypes, IVersionedNodeType } from 'n8n-workflow';
import { core, n8nWorkflow } from './n8n.mts';
import { standIns } from './stand-ins.mts';

// The project's own folder, or one with the packed package.
const packageFolder =
	process.env.MEDIA_GENERATION_PACKAGE ?? fileURLToPath(new URL('..', import.meta.url));

type WholeLoader = InstanceType<typeof core.PackageDirectoryLoader>;
/** What of a loader is needed to run workflows. */
export type Loader = Pick<WholeLoader, 'packageName' | 'known'> & {
	getNode(name: string): { type: INodeType | IVersionedNodeType };
	getCredential(name: string): { type: ICredentialType };
};
let loading: Promise<WholeLoader> | undefined;

/** This package as built in `dist` unless told otherwise, loaded the way n8n loads an installed one. */
export async function loadPackage(): Promise<WholeLoader> {
	return await (loading ??= (async () => {
		const loader = new core.PackageDirectoryLoader(packageFolder);
		await loader.loadAll();
		return loader;
	})());
}

/** The node types that a workflow may use here: the package's, and a few stand-ins for n8n's. */
export function nodeTypesOf(loader: Loader): INodeTypes {
	const find = (type: string): INodeType | IVersionedNodeType => {
		const [packageName, name] = type.split('.');
		if (packageName === loader.packageName) return loader.getNode(name as string).type;
		const standIn = standIns[type];
		if (!standIn) throw new Error(`The embedded engine has no node of the type ${type}`);
		return standIn;
	};
	return {
		getByName: find,
		getByNameAndVersion: (type, version) =>
			n8nWorkflow.NodeHelpers.getVersionedNodeType(find(type), version),
		getKnownTypes: () => loader.known.nodes as never,
	};
}
