// The most that all our processes hold together while large files are written.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {test} from 'node:test';
import {pattern, scratch, sha256} from './lib/files.mjs';
import {Helper} from './lib/helper.mjs';
import {foreignSkip, rootSkip, withServer} from './lib/server.mjs';

// Of a process with another user id only root may ask for its memory.
const skip = foreignSkip || rootSkip;
const MIB = 1024 * 1024;
const data = pattern(64 * MIB);
const dataBase64 = data.toString('base64');

for (const [count, most] of [[1, 160], [4, 400]])
	test(`${count} fs/writeFile of 64 MiB at once: under ${most} MiB`, {skip},
		() => withServer({}, async (server) => {
			const all = [];
			for (let i = 0; i < count; i++) {
				const client = await server.connect();
				const files = scratch(server, client);
				await files.stat('');
				all.push(files);
			}
			const sampler = await Helper.start('sampler', server.pid);
			const idle = await sampler.ask('idle');
			for (const result of await Promise.all(all.map((files) =>
				files.call('writeFile', {path: 'f', dataBase64}, {ms: 60000}))))
				assert.deepEqual(result, {});
			const {peak, samples} = await sampler.ask('peak');
			sampler.end();
			console.log(`peak ${(peak / MIB).toFixed(1)} MiB of ${samples} ` +
				`samples, ${(idle.peak / MIB).toFixed(1)} MiB idle`);
			assert.ok(samples > 10);
			for (const files of all)
				assert.equal(sha256(fs.readFileSync(files.at('f'))),
					sha256(data));
			assert.ok(peak < most * MIB);
		}));
