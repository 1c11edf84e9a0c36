import * as n8nWorkflow from 'n8n-workflow';

/* Throws an error with a clear message if n8n is too old. A node's file must import this file before any other. */
if (!('NodeConnectionTypes' in n8nWorkflow)) {
	throw new Error(
		'This version of n8n-nodes-media-generation needs n8n 1.101 or later. Update n8n.',
	);
}
