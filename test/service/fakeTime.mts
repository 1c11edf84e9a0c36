/** Fakes timers and clocks from now on, except those that the real connections to a service need. */
export const fakeTime = () =>
	jest.useFakeTimers({
		doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'hrtime'],
	});
