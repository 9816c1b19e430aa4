// Waits for conditions, never for time.

import { setTimeout as pause } from "node:timers/promises";

/** A wait that ran out. */
export class Vain extends Error {
  name = Vain.name;
}

/**
 * Asks again until the answer is true enough, and gives it back.
 * @template T
 * @param {string} what what is waited for, for the message when it never comes
 * @param {() => T | Promise<T>} probe
 * @param {number} [patience] in milliseconds
 * @returns {Promise<NonNullable<T>>}
 */
export async function eventually(what, probe, patience = 20_000) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    if (Date.now() > end) throw new Vain(`waited ${patience} ms in vain until ${what}`);
    await pause(25);
  }
}
