// Waiting always has a deadline. SALLYPORT_SLOW stretches all of them by one
// factor, for builds with sanitizers.

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

/** Only for "nothing happens in this time"; never to wait for an event. */
export function pause(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms));
}
