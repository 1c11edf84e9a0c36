import type {
	ICredentialDataDecryptedObject,
	ICredentialsHelper,
	ICredentialType,
	IHttpRequestOptions,
	INodeCredentialsDetails,
	IRequestOptionsSimplified,
} from 'n8n-workflow';
import { n8nWorkflow } from './n8n.mts';

/** Decrypted credentials, by the name that nodes refer to them with, or else by type. */
export type Credentials = Record<string, ICredentialDataDecryptedObject>;

/** n8n's store of credentials, in memory. Authentication is done by the real credential class. */
export function credentialsHelperFor(
	types: (name: string) => ICredentialType,
	credentials: Credentials,
): ICredentialsHelper {
	class MemoryCredentials extends n8nWorkflow.ICredentialsHelper {
		getParentTypes() {
			return [];
		}

		isCredentialUsableByNode() {
			return true;
		}

		async getDecrypted(_: unknown, { name }: INodeCredentialsDetails, type: string) {
			const data = credentials[name] ?? credentials[type];
			if (!data) throw new Error(`No credential "${name}" of the type ${type} was given`);
			return withDefaults(types(type), data);
		}

		async authenticate(
			data: ICredentialDataDecryptedObject,
			type: string,
			options: IHttpRequestOptions | IRequestOptionsSimplified,
		) {
			const { authenticate } = types(type);
			if (typeof authenticate !== 'function') {
				throw new Error(`The credential ${type} has no authenticate method`);
			}
			return await authenticate.call(types(type), data, options as IHttpRequestOptions);
		}

		async preAuthentication() {
			return undefined;
		}

		async runPreAuthentication() {
			return undefined;
		}

		getCredentials(): never {
			throw new Error('Credentials are never encrypted here');
		}

		async updateCredentials() {}

		async updateCredentialsOauthTokenData() {}

		getCredentialsProperties(type: string) {
			return types(type).properties;
		}
	}
	return new MemoryCredentials();
}

/** As n8n does: a field that was never filled in has its default. */
function withDefaults(type: ICredentialType, data: ICredentialDataDecryptedObject) {
	const defaults = type.properties.map(({ name, default: value }) => [name, value]);
	return { ...Object.fromEntries(defaults), ...data } as ICredentialDataDecryptedObject;
}
