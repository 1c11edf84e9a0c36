import type {
	ICredentialDataDecryptedObject,
	ICredentialType,
	IHttpRequestOptions,
	Icon,
	INodeProperties,
} from 'n8n-workflow';
import { cleanToken } from '../nodes/shared/http/credential';

/**
 * The credential, as n8n loads it. Both nodes send the token themselves; `authenticate` serves n8n's HTTP Request
 * node, where people can choose this credential as well.
 */
export class MediaGenerationApi implements ICredentialType {
	name = 'mediaGenerationApi';

	displayName = 'Media Generation API';

	icon: Icon = { light: 'file:../icons/media.svg', dark: 'file:../icons/media.dark.svg' };

	documentationUrl =
		'https://github.com/n8n-nodes-media-generation/n8n-nodes-media-generation#five-minute-start';

	properties: INodeProperties[] = [
		{
			displayName: 'API Token',
			name: 'apiToken',
			type: 'string',
			typeOptions: { password: true },
			required: true,
			default: '',
			description: 'The token that the service issued to you',
		},
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			required: true,
			default: '',
			placeholder: 'e.g. https://media.example.com',
			description: 'The address of the API, without the paths that begin with /v1',
		},
		{
			displayName: 'WebSocket URL',
			name: 'webSocketUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. wss://media.example.com',
			description: 'Where the service reports progress. Leave empty unless told otherwise.',
		},
		{
			displayName: 'Allow Unencrypted Connection',
			name: 'allowHttp',
			type: 'boolean',
			default: false,
			description:
				'Whether to allow http:// and ws:// for hosts other than this machine. The token can then be read on the network.',
		},
	];

	/** Adds the token to a request. Never throws. */
	async authenticate(
		credentials: ICredentialDataDecryptedObject,
		requestOptions: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> {
		requestOptions.headers = {
			...requestOptions.headers,
			Authorization: `Bearer ${cleanToken(credentials.apiToken)}`,
		};
		return requestOptions;
	}
}
