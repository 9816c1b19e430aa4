// Polling: waits for a condition instead of a fixed time.

import { setTimeout as sleep } from "node:timers/promises";

/** A condition did not become true in time. */
export class PollTimeout extends Error {
  name = PollTimeout.name;
}

/**
 * What `work` resolves to; fails after the time limit.
 * @template T
 * @param {number} limit in milliseconds
 * @param {string} what for the error message
 * @param {Promise<T>} work
 * @returns {Promise<T>}
 */
export async function within(limit, what, work) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new PollTimeout(`${what} took more than ${limit} ms`)), limit);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Polls until the result is truthy, and returns it.
 * @template T
 * @param {string} condition for the error message
 * @param {() => T | Promise<T>} probe
 * @param {number} [timeout] in milliseconds
 * @returns {Promise<NonNullable<T>>}
 */
export async function eventually(condition, probe, timeout = 20_000) {
  const deadline = Date.now() + timeout;
  for (;;) {
    const result = await probe();
    if (result) return result;
    if (Date.now() > deadline) throw new PollTimeout(`timed out after ${timeout} ms waiting until ${condition}`);
    await sleep(25);
  }
}
