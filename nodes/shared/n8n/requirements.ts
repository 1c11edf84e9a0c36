import * as n8nWorkflow from 'n8n-workflow';

/*
 * To be imported before anything else: what is missing would end as an error about a class that can't
 * be found, which sends the user to look in the wrong place.
 */

const needs = (what: string) =>
	new Error(
		`This version of n8n-nodes-media-generation needs ${what}. Update n8n, or install an older version of the package.`,
	);

// Any Node that n8n 1.101 starts on has it.
if (typeof AbortSignal.any !== 'function') throw needs('Node.js 20.19 or later');
if (!('NodeConnectionTypes' in n8nWorkflow)) throw needs('n8n 1.101 or later');
