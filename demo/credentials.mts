import type {
	ICredentialDataDecryptedObject,
	ICredentialsExpressionResolveValues,
	ICredentialsHelper,
	ICredentialType,
	IHttpRequestOptions,
	INodeParameters,
	WorkflowExecuteMode,
} from 'n8n-workflow';

/** Decrypted credentials, by the name that nodes refer to them with, or else by type. */
export type Credentials = Record<string, ICredentialDataDecryptedObject>;

/** n8n's store of credentials, in memory. Authentication is done by the real credential class. */
export function credentialsHelperFor(
	types: (name: string) => ICredentialType,
	credentials: Credentials,
): ICredentialsHelper {
	const helper: Partial<ICredentialsHelper> = {
		getParentTypes: () => [],
		isCredentialUsableByNode: () => true,
		async getDecrypted(_, { name }, type, mode, __, ___, place) {
			const data = credentials[name] ?? credentials[type];
			if (!data) throw new Error(`No credential "${name}" of the type ${type} was given`);
			const complete = withDefaults(types(type), data);
			return place ? resolved(complete, mode, place) : complete;
		},
		async authenticate(data, type, options) {
			const { authenticate } = types(type);
			if (typeof authenticate !== 'function') {
				throw new Error(`The credential ${type} has no authenticate method`);
			}
			return await authenticate.call(types(type), data, options as IHttpRequestOptions);
		},
		preAuthentication: async () => undefined,
		runPreAuthentication: async () => undefined,
		getCredentialsProperties: (type) => types(type).properties,
	};
	// Nothing here encrypts or saves credentials.
	return helper as ICredentialsHelper;
}

/** As n8n does: an expression in a field is resolved for the item that the node asks for. */
function resolved(
	data: ICredentialDataDecryptedObject,
	mode: WorkflowExecuteMode,
	{ workflow, node, ...place }: ICredentialsExpressionResolveValues,
) {
	const { runExecutionData, runIndex, itemIndex, connectionInputData } = place;
	try {
		return workflow.expression.getParameterValue(
			...([data as INodeParameters, runExecutionData, runIndex, itemIndex, node.name] as const),
			...([connectionInputData, mode, {}, undefined, false, data] as const),
		) as ICredentialDataDecryptedObject;
	} catch (error) {
		(error as Error).message += ' [Error resolving credentials]';
		throw error;
	}
}

/** As n8n does: a field that was never filled in has its default. */
function withDefaults(type: ICredentialType, data: ICredentialDataDecryptedObject) {
	const defaults = type.properties.map(({ name, default: value }) => [name, value]);
	return { ...Object.fromEntries(defaults), ...data } as ICredentialDataDecryptedObject;
}
