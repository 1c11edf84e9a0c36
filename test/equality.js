/* Jest compares bytes one by one, as properties of an object: seconds for a file. */
expect.addEqualityTesters([
	(one, other) => (Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : undefined),
]);
