import { fileURLToPath } from 'node:url';
import type { ICredentialType, INodeType, INodeTypes, IVersionedNodeType } from 'n8n-workflow';
import { core, n8nWorkflow } from './n8n.mts';
import { standIns } from './stand-ins.mts';

// A test of the packed package sets MEDIA_GENERATION_PACKAGE to its folder. By default, it is the folder of this
// project.
const packageFolder =
	process.env.MEDIA_GENERATION_PACKAGE ?? fileURLToPath(new URL('..', import.meta.url));

type PackageLoader = InstanceType<typeof core.PackageDirectoryLoader>;
/** The part of n8n's loader of packages that is needed to run workflows. */
export type Loader = Pick<PackageLoader, 'packageName' | 'known'> & {
	getNode(name: string): { type: INodeType | IVersionedNodeType };
	getCredential(name: string): { type: ICredentialType };
};
let packageLoader: Promise<PackageLoader> | undefined;

/** Loads the package in `packageFolder` as n8n loads an installed package. Loads it only once. */
export async function loadPackage(): Promise<PackageLoader> {
	return await (packageLoader ??= (async () => {
		const loader = new core.PackageDirectoryLoader(packageFolder);
		await loader.loadAll();
		return loader;
	})());
}

/**
 * Returns the node types that a workflow may use in this engine: those of the package, and stand-ins for a few of n8n's
 * own nodes.
 */
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
