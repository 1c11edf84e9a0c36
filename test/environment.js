const { Server } = require('node:net');
const { TestEnvironment } = require('jest-environment-node');

/*
 * Gives each server of a test that asks for any port one that no server of these tests has had. A client whose service
 * was closed may go on for a moment, and the system soon gives a port to another: requests of one test reached the
 * service of another, which counts them.
 */

/** Below the ports of outgoing connections, and of `freePort`; `fetch` refuses 10080. */
const FIRST_PORT = 11_000;
const PORTS_EACH = 1000;
/** Each of jest's workers loads this file once. */
const worker = (Number(process.env.JEST_WORKER_ID ?? 1) - 1) % 9;
let count = Math.floor(Math.random() * PORTS_EACH);
const nextPort = () => FIRST_PORT + worker * PORTS_EACH + (count++ % PORTS_EACH);

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
	if (port !== 0) return listen.call(this, port, ...rest);
	const { emit } = this;
	this.emit = (name, ...args) => {
		if (args[0]?.code === 'EADDRINUSE') return Boolean(listen.call(this, nextPort(), ...rest));
		if (name === 'listening' || name === 'error') this.emit = emit;
		return emit.call(this, name, ...args);
	};
	return listen.call(this, nextPort(), ...rest);
};

module.exports = TestEnvironment;
