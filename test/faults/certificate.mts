import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/* Makes self-signed certificates, so that the repository contains no key. */

const der = (tag: number, ...parts: Buffer[]): Buffer => {
	const body = Buffer.concat(parts);
	const size: number[] = [];
	for (let bits = body.length; bits > 0; bits >>= 8) size.unshift(bits & 0xff);
	const length = body.length < 128 ? [body.length] : [0x80 | size.length, ...size];
	return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const object = (...numbers: number[]) => der(0x06, Buffer.from(numbers));
const time = (ms: number) =>
	der(0x17, Buffer.from(new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14) + 'Z'));

/** 1.2.840.10045.4.3.2: ECDSA with SHA-256 */
const ALGORITHM = sequence(object(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
/** 2.5.4.3: the common name */
const named = (host: string) =>
	sequence(der(0x31, sequence(object(0x55, 0x04, 0x03), der(0x0c, Buffer.from(host)))));
const DAY_MS = 86_400_000;

/** Returns a new key, and a self-signed certificate for a host, both as PEM. */
export function selfSigned(host = 'localhost'): { key: string; cert: string } {
	const name = named(host);
	const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
	const body = sequence(
		der(0x02, serial),
		ALGORITHM,
		name,
		sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
		name,
		publicKey.export({ type: 'spki', format: 'der' }),
	);
	const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]);
	const lines = sequence(body, ALGORITHM, der(0x03, signature))
		.toString('base64')
		.match(/.{1,64}/g)!;
	return {
		key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
		cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
	};
}
