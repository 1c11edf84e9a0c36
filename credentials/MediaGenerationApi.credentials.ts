import type {
	ICredentialDataDecryptedObject,
	ICredentialType,
	IHttpRequestOptions,
	Icon,
	INodeProperties,
} from 'n8n-workflow';
import { readAuthHeaders } from '../nodes/shared/http/credential';

/** The credential, as n8n loads it. Only n8n's HTTP Request node uses its `authenticate`; our nodes do not. */
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
			description: "The API token from your provider's website",
		},
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			required: true,
			default: '',
			placeholder: 'e.g. https://media.example.com',
			description: 'The URL of the API: the part before /v1',
		},
		{
			displayName: 'WebSocket URL',
			name: 'webSocketUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. wss://media.example.com',
			description:
				'The URL at which the service reports progress. If empty, the host of Base URL is used.',
			hint: 'Leave empty unless your provider gave you a separate WebSocket URL',
		},
		{
			displayName: 'Allow Unencrypted Connection',
			name: 'allowHttp',
			type: 'boolean',
			default: false,
			description:
				'Whether to allow http:// and ws:// for hosts other than localhost. Others on the network can then read the token.',
		},
	];

	/** Adds the token to a request. Throws a Failure of kind invalidInput if the token is empty or malformed. */
	async authenticate(
		credentials: ICredentialDataDecryptedObject,
		requestOptions: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> {
		requestOptions.headers = { ...requestOptions.headers, ...readAuthHeaders(credentials) };
		return requestOptions;
	}
}
