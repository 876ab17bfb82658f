// Waiting always has a deadline. SALLYPORT_SLOW stretches all of them by one
// factor, for machines that are slow and builds with sanitizers.

export const slow = Number(process.env.SALLYPORT_SLOW ?? 1);

/** The promise, or a rejection that names what was waited for. */
export function within(ms, what, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(
			() => reject(new Error(`no ${what} within ${ms} ms`)),
			ms * slow);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Ask probe again and again until it returns something truthy. */
export async function until(ms, what, probe) {
	const end = Date.now() + ms * slow;
	for (;;) {
		const value = await probe();
		if (value)
			return value;
		if (Date.now() > end)
			throw new Error(`not within ${ms} ms: ${what}`);
		await pause(10);
	}
}

/**
 * Do what is to be quick, or what holds for so long only, again until it took
 * less than ms; its value. On a busy machine a try that took longer says
 * nothing, not even if it failed.
 */
export async function inTime(ms, body) {
	for (let tries = 0; tries < 20; tries++) {
		const begin = Date.now();
		const [result] = await Promise.allSettled([body()]);
		if (Date.now() - begin >= ms)
			continue;
		if (result.status === 'rejected')
			throw result.reason;
		return result.value;
	}
	throw new Error(`not once in less than ${ms} ms`);
}

/** Only for "nothing happens in this time"; never to wait for an event. */
export function pause(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms));
}
