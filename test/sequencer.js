const { default: Sequencer } = require('@jest/test-sequencer');

/* Jest begins with what took long the last time, and in a fresh clone with the largest file: the
   whole matrix of faults in one of the smallest would come last, and alone. */

/** What takes longest, the longest first. */
const LONGEST = [
	'test/worlds/',
	'test/pace/',
	'test/check/',
	'test/faults/faults.',
	'test/engine/paidOperations.',
];

const rank = ({ path }) => {
	const at = LONGEST.findIndex((name) => path.replaceAll('\\', '/').includes(name));
	return at < 0 ? LONGEST.length : at;
};

module.exports = class extends Sequencer {
	sort(tests) {
		return super.sort(tests).sort((one, other) => rank(one) - rank(other));
	}
};
