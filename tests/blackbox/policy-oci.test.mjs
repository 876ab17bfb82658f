// System call policies and the seccomp JSON of container runtimes.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {
	binary, foreignSkip, freshDirectory, plainPolicies,
} from './lib/server.mjs';
import {slow} from './lib/wait.mjs';

const own = {skip: foreignSkip};
const dir = freshDirectory('oci');
const x86 = process.arch === 'x64';

function policy(args, input) {
	return spawnSync(binary, ['policy', ...args],
		{encoding: 'utf8', timeout: 10000 * slow, input, maxBuffer: 1 << 24});
}

/** Import an object; returns {status, stdout, stderr}. */
const load = (profile) =>
	policy(['import', '--oci', '-'], JSON.stringify(profile));

const filter = (args) => JSON.parse(policy(['show', '--json', ...args]).stdout)
	.filters.find((f) => f.process === 'child').sha256;

test('what is exported imports to the same filter', own, () => {
	const json = policy(['export', '--oci', 'child']);
	assert.equal(json.stderr, '');
	const text = policy(['import', '--oci', '-'], json.stdout);
	const file = path.join(dir, 'child.policy');

	assert.equal(text.stderr, '');
	fs.writeFileSync(file, text.stdout);
	assert.equal(policy(['check', file]).stderr, '');
	assert.equal(filter(['--set', `sandbox.child_policy=${file}`]),
		filter([]));
});

test('the policies of all processes pass there and back', own, () => {
	for (const name of plainPolicies) {
		const here = path.join(dir, `${name}.policy`);
		const back = path.join(dir, `${name}-back.policy`);
		const json = policy(['export', '--oci', name]);

		assert.equal(json.status, 0, `${name}: ${json.stderr}`);
		fs.writeFileSync(here, policy(['export', '--text', name]).stdout);
		const text = policy(['import', '--oci', '-'], json.stdout);
		assert.equal(text.status, 0, `${name}: ${text.stderr}`);
		fs.writeFileSync(back, text.stdout);
		for (const pair of [[here, back], [back, here]]) {
			const {status, stdout, stderr} = policy(['diff', ...pair]);
			assert.equal(status, 0, `${name}: ${stdout}${stderr}`);
		}
	}
});

// As an engine ships it: conditions of capability, architecture and kernel.
const engine = {
	defaultAction: 'SCMP_ACT_ERRNO', defaultErrnoRet: 1,
	archMap: [{architecture: 'SCMP_ARCH_X86_64',
		subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32']}],
	syscalls: [
		{names: ['read', 'write', 'openat', 'open', '_llseek', 'mkdirat',
			'fstat', 'read'], action: 'SCMP_ACT_ALLOW'},
		{names: ['ptrace'], action: 'SCMP_ACT_ALLOW',
			includes: {minKernel: '4.8'}},
		{names: ['socket'], action: 'SCMP_ACT_ALLOW',
			args: [{index: 0, value: 40, op: 'SCMP_CMP_NE'}]},
		{names: ['personality'], action: 'SCMP_ACT_ALLOW',
			args: [{index: 0, value: 0, op: 'SCMP_CMP_EQ'}]},
		{names: ['personality'], action: 'SCMP_ACT_ALLOW',
			args: [{index: 0, value: 8, op: 'SCMP_CMP_EQ'}]},
		{names: ['arch_prctl'], action: 'SCMP_ACT_ALLOW',
			includes: {arches: ['amd64', 'x32']}},
		{names: ['s390_runtime_instr'], action: 'SCMP_ACT_ALLOW',
			includes: {arches: ['s390']}},
		{names: ['mount', 'clone', 'bpf'], action: 'SCMP_ACT_ALLOW',
			includes: {caps: ['CAP_SYS_ADMIN']}},
		{names: ['clone'], action: 'SCMP_ACT_ALLOW',
			args: [{index: 0, value: 0x7e020000, valueTwo: 0,
				op: 'SCMP_CMP_MASKED_EQ'}],
			excludes: {caps: ['CAP_SYS_ADMIN'], arches: ['s390', 's390x']}},
		{names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38,
			excludes: {caps: ['CAP_SYS_ADMIN']}},
	],
};
// The same idea the other way round: all but a few.
const open = {
	defaultAction: 'SCMP_ACT_ALLOW', architectures: ['SCMP_ARCH_X86_64'],
	syscalls: [
		{name: 'mount', action: 'SCMP_ACT_ERRNO', errnoRet: 1},
		{names: ['reboot', 'kexec_load'], action: 'SCMP_ACT_KILL_PROCESS'},
		{names: ['ioctl'], action: 'SCMP_ACT_ERRNO', errnoRet: 13,
			args: [{index: 1, value: 0xffffffff, valueTwo: 0x5412,
				op: 'SCMP_CMP_MASKED_EQ'}]},
	],
};

const calls = [
	[engine, [['read', 'allow'], ['write', 'allow'], ['mkdirat', 'allow'],
		['ptrace', 'allow'], ['fstat', 'allow'], ['close', 'EPERM'],
		['mount', 'EPERM'], ['bpf', 'EPERM'], ['clone', 'allow'],
		['clone arg0=0x10000000', 'EPERM'], ['clone arg0=0x11', 'allow'],
		['clone3', 'ENOSYS'], ['socket arg0=2', 'allow'],
		['socket arg0=40', 'EPERM'], ['socket arg0=16', 'allow'],
		['personality', 'allow'], ['personality arg0=8', 'allow'],
		['personality arg0=4', 'EPERM'], ['unshare', 'EPERM'],
		['openat', 'allow']]],
	[open, [['read', 'allow'], ['mount', 'EPERM'], ['reboot', 'kill'],
		['kexec_load', 'kill'], ['ioctl arg1=0x5412', 'EACCES'],
		['ioctl arg1=0x5413', 'allow'], ['ptrace', 'allow'],
		['socket arg0=40', 'allow'], ['clone3', 'allow'],
		['bpf', 'allow']]],
];

test('profiles of container runtimes mean what they say', own, () => {
	for (const [profile, rows] of calls) {
		const {status, stdout, stderr} = load(profile);
		const file = path.join(dir, 'runtime.policy');

		assert.equal(status, 0, stderr);
		fs.writeFileSync(file, stdout);
		for (const [call, want] of rows) {
			const got = policy(['explain', file, 'syscall',
				...call.split(' ')]);
			assert.match(got.stdout, new RegExp(`^${want}: `),
				`${call}: ${got.stderr}`);
		}
	}
	assert.match(load(engine).stderr, /_llseek: not a call of/);
	assert.equal(/^open \[x86_64\]/m.test(load(engine).stdout), true);
	assert.ok(x86 || process.arch === 'arm64');
});

const one = (entry, more = {}) => ({defaultAction: 'SCMP_ACT_ERRNO',
	syscalls: [{names: ['read'], action: 'SCMP_ACT_ALLOW', ...entry}],
	...more});
const arg = (args) => one({args});

test('what holds on one architecture leaves the other its own', own, () => {
	const entries = (...syscalls) => load({defaultAction: 'SCMP_ACT_ERRNO',
		syscalls: syscalls.map((entry) => (
			{names: ['read'], action: 'SCMP_ACT_ALLOW', ...entry}))})
		.stdout.split('\n').filter((line) => line.startsWith('read'))
		.map((line) => line.split(' #')[0]);
	const some = {args: [{index: 0, value: 1, op: 'SCMP_CMP_EQ'}]};
	const amd64 = {includes: {arches: ['amd64']}};

	const both = ['read [aarch64]: ptr0 == 0x1', 'read [x86_64]'];
	assert.deepEqual(entries(some, amd64), both);
	assert.deepEqual(entries(amd64, some), [...both].reverse());
	// What both have is said once, whichever comes first.
	assert.deepEqual(entries(amd64, {}), ['read']);
	assert.deepEqual(entries({}, amd64), ['read']);
	assert.deepEqual(entries(amd64, {includes: {arches: ['arm64']}}), ['read']);
	assert.deepEqual(entries(amd64, some, some), [...both].reverse());
	// A mask of all bits is no mask.
	const whole = {args: [{index: 0, value: -1, valueTwo: 1,
		op: 'SCMP_CMP_MASKED_EQ'}]};
	assert.deepEqual(entries(some, whole), ['read: ptr0 == 0x1']);
	assert.deepEqual(entries(whole, some), ['read: ptr0 == 0x1']);
	// Where it always may, a test is of no use.
	assert.deepEqual(entries({...some, ...amd64}, {}), ['read']);
});

test('what is imported has as many rules as a policy, and no more', own, () => {
	const entries = (args) => ({defaultAction: 'SCMP_ACT_ERRNO',
		syscalls: args.map((a) => (
			{names: ['read'], action: 'SCMP_ACT_ALLOW', args: a}))});
	const equal = (index, value) => ({index, value, op: 'SCMP_CMP_EQ'});
	const masked = (valueTwo) => (
		{index: 0, value: 0xfff, valueTwo, op: 'SCMP_CMP_MASKED_EQ'});
	const many = (count, args) => Array.from({length: count},
		(_, i) => args(i));
	const six = (i) => many(6, (index) => equal(index, i));
	// Sets of 64 values, told apart by one more.
	const sets = many(63 * 64, (i) => [masked(i % 64),
		equal(1, Math.floor(i / 64))]);
	const bounds = [
		[/more than 1024 rules/, many(1024, (i) => [equal(0, i)]),
			[[equal(1, 0)]]],
		[/more than 2048 tests/,
			[...many(341, six), [equal(0, 999), equal(1, 0)]],
			[[equal(1, 0)]]],
		[/more than 4096 values/, [...sets, [equal(2, 0)]],
			[[equal(3, 0)]]],
	];

	for (const [why, full, more] of bounds) {
		const there = load(entries(full));
		const past = load(entries([...full, ...more]));

		assert.equal(there.status, 0, there.stderr);
		fs.writeFileSync(path.join(dir, 'full.policy'), there.stdout);
		assert.equal(
			policy(['check', path.join(dir, 'full.policy')]).stderr, '');
		assert.match(past.stderr, why);
		assert.equal(past.status, 2);
		assert.equal(past.stdout, '');
	}
});

test('what a policy cannot say is an error', own, () => {
	const rows = [
		[one({}, {defaultAction: 'SCMP_ACT_LOG'}), /SCMP_ACT_LOG/],
		[one({}, {defaultAction: 'SCMP_ACT_KILL'}), /SCMP_ACT_KILL/],
		[one({}, {listenerPath: '/x'}), /unknown member listenerPath/],
		[one({action: 'SCMP_ACT_TRACE'}), /SCMP_ACT_TRACE/],
		[one({action: 'SCMP_ACT_NOTIFY'}), /SCMP_ACT_NOTIFY/],
		[one({action: undefined}), /action is missing/],
		[one({action: 'SCMP_ACT_ERRNO', errnoRet: 4000}), /errno 4000/],
		[one({names: ['nonsense']}), /no such system call is known: nonsense/],
		[one({names: [7]}), /no string/],
		[one({priority: 1}), /unknown member priority/],
		[one({includes: {minKernel: '7.0'}}), /newer than 6\.1/],
		[one({includes: {minKernel: 'x'}}), /not MAJOR\.MINOR/],
		[one({includes: {distro: 'x'}}), /unknown member distro/],
		[one({excludes: {minKernel: '4.8'}}), /excludes: minKernel/],
		[arg([{index: 0, value: 1, op: 'SCMP_CMP_GT'}]), /SCMP_CMP_GT/],
		[arg([{index: 6, value: 1, op: 'SCMP_CMP_EQ'}]), /index/],
		[arg([{index: 0, value: 1}]), /op/],
		[arg([{index: 0, value: 1, op: 'SCMP_CMP_EQ'},
			{index: 0, value: 2, op: 'SCMP_CMP_EQ'}]), /two tests of one/],
		[arg([{index: 0, value: 1, valueTwo: 2, op: 'SCMP_CMP_MASKED_EQ'}]),
			/can never be/],
		[{defaultAction: 'SCMP_ACT_ERRNO', syscalls: [
			{names: ['read'], action: 'SCMP_ACT_ALLOW'},
			{names: ['read'], action: 'SCMP_ACT_KILL_PROCESS',
				args: [{index: 0, value: 1, op: 'SCMP_CMP_EQ'}]}]},
		/several actions/],
		[{defaultAction: 'SCMP_ACT_ERRNO'}, /syscalls is not an array/],
		[[], /action is missing/],
	];

	for (const [profile, want] of rows) {
		const {status, stdout, stderr} = load(profile);

		assert.match(stderr, want, JSON.stringify(profile));
		assert.equal(status, 2);
		assert.equal(stdout, '');
	}
	assert.equal(policy(['import', '--oci', '-'], '{').status, 2);
	assert.equal(policy(['import', '--oci', '/no/such']).status, 2);
	assert.equal(policy(['export', '--oci', 'nobody']).status, 2);
	fs.rmSync(dir, {recursive: true});
});
