import type {
	ICredentialDataDecryptedObject,
	ICredentialsHelper,
	ICredentialType,
	IHttpRequestOptions,
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
		async getDecrypted(_, { name }, type) {
			const data = credentials[name] ?? credentials[type];
			if (!data) throw new Error(`No credential "${name}" of the type ${type} was given`);
			return withDefaults(types(type), data);
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

/** As n8n does: a field that was never filled in has its default. */
function withDefaults(type: ICredentialType, data: ICredentialDataDecryptedObject) {
	const defaults = type.properties.map(({ name, default: value }) => [name, value]);
	return { ...Object.fromEntries(defaults), ...data } as ICredentialDataDecryptedObject;
}
