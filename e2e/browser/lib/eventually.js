// Polling: waits for a condition instead of a fixed time.

import { setTimeout as sleep } from "node:timers/promises";

/** A condition did not become true in time. */
export class PollTimeout extends Error {
  name = PollTimeout.name;
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
