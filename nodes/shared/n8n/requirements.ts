import * as n8nWorkflow from 'n8n-workflow';

/*
 * To be imported before anything else: what is missing would end as an error about a class that can't
 * be found, which sends the user to look in the wrong place. Any Node that n8n 1.101 starts on will do.
 */
if (!('NodeConnectionTypes' in n8nWorkflow)) {
	throw new Error(
		'This version of n8n-nodes-media-generation needs n8n 1.101 or later. Update n8n.',
	);
}
