import { Failure } from '../failure';
import { CREDENTIAL_TYPE, readCredential, type Credential } from '../http/credential';
import type { ServiceContext } from '../http/request';

/* How n8n's errors (1.101 to 2.41) begin if no credential is selected in the node, or if it was deleted. */
const NOT_SELECTED = /^(?:Node does not have any credentials set|Found credential with no ID)/;
const DELETED = /^Credential with ID /;

/** Returns the Failure for a node without a credential. It says where to select one, which n8n's error does not. */
const notSelected = (reason: string) =>
	new Failure('invalidInput', {
		field: 'Credential',
		reason: `${reason} in this field of the node`,
		fieldRemedy: "Older versions of n8n call the field 'Credential to connect with'",
		isInCredential: true,
	});

/**
 * Reads the credential that is selected in the node, with its expressions resolved for an input item. Throws a Failure
 * if none is selected or one of its fields is bad, and n8n's error if n8n cannot read it.
 */
export async function readNodeCredential(
	context: ServiceContext,
	itemIndex?: number,
): Promise<Credential> {
	const fields = await context.getCredentials(CREDENTIAL_TYPE, itemIndex).catch((error: Error) => {
		if (NOT_SELECTED.test(error.message)) throw notSelected('is empty: select one');
		throw DELETED.test(error.message) ? notSelected('was deleted: select another') : error;
	});
	return readCredential(fields);
}
