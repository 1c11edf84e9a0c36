/** Fakes timers and clocks from now on. The service is real: what its connections need is not faked. */
export const fakeTime = () =>
	jest.useFakeTimers({
		doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'hrtime'],
	});
