import type {
	ICredentialDataDecryptedObject,
	ICredentialsExpressionResolveValues,
	ICredentialsHelper,
	ICredentialType,
	IHttpRequestOptions,
	INodeParameters,
	WorkflowExecuteMode,
} from 'n8n-workflow';

/**
 * The fields of credentials, not encrypted. The key is the name by which a node refers to the credential, or the type
 * of the credential.
 */
export type Credentials = Record<string, ICredentialDataDecryptedObject>;

/**
 * Returns the object from which n8n's engine gets its credentials. It contains the given `credentials`. `credentialTypeOf` returns
 * the class of a credential by the name of its type; `authenticate` of that class is really called.
 */
export function credentialsHelperFor(
	credentialTypeOf: (name: string) => ICredentialType,
	credentials: Credentials,
): ICredentialsHelper {
	const helper: Partial<ICredentialsHelper> = {
		getParentTypes: () => [],
		isCredentialUsableByNode: () => true,
		async getDecrypted(_, { name }, type, mode, __, ___, place) {
			const data = credentials[name] ?? credentials[type];
			if (!data) throw new Error(`No credential "${name}" of the type ${type} was given`);
			const complete = withDefaults(credentialTypeOf(type), data);
			return place ? resolveExpressions(complete, mode, place) : complete;
		},
		async authenticate(data, type, options) {
			const { authenticate } = credentialTypeOf(type);
			if (typeof authenticate !== 'function') {
				throw new Error(`The credential ${type} has no authenticate method`);
			}
			return await authenticate.call(credentialTypeOf(type), data, options as IHttpRequestOptions);
		},
		preAuthentication: async () => undefined,
		runPreAuthentication: async () => undefined,
		getCredentialsProperties: (type) => credentialTypeOf(type).properties,
	};
	// The methods that encrypt and save credentials are missing, because the engine does not call them.
	return helper as ICredentialsHelper;
}

/** Resolves the expressions in a credential for the item that the node asks for, as n8n does. */
function resolveExpressions(
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

/** Adds the default value of each field that is missing, as n8n does. */
function withDefaults(type: ICredentialType, data: ICredentialDataDecryptedObject) {
	const defaults = type.properties.map(({ name, default: value }) => [name, value]);
	return { ...Object.fromEntries(defaults), ...data } as ICredentialDataDecryptedObject;
}
