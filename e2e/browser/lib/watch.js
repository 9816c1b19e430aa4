// Looks over a page's shoulder: whatever goes wrong in it is a failure of the story, unless the story said so before.

import assert from "node:assert/strict";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{ variant: string, problems: string[], expected: { pattern: RegExp, must: boolean }[] }} Watch */

/** @type {WeakMap<Page, Watch>} */
const watches = new WeakMap();

/**
 * @param {Page} page
 * @param {string} base the only place a page may talk to
 * @param {string} variant `phone-light` and the like, for the names of screenshots
 */
export function watch(page, base, variant) {
  /** @type {string[]} */
  const problems = [];
  watches.set(page, { variant, problems, expected: [] });
  // Violations of the content security policy and answers of 400 and more arrive here as well.
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => {
    // Looking at a page before its style sheet is there makes Chromium give up the fade between two pages. Only tests
    // look that early: scripts of a page wait for its style.
    if (error.message.includes("ViewTransition opt-in disabled")) return;
    problems.push(`uncaught: ${error.stack || `${error.name} ${error.message}`} (${page.url()})`);
  });
  page.on("crash", () => problems.push("the page crashed"));
  // Of the whole context: a service worker's requests count too.
  page.context().on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== base) problems.push(`foreign: ${request.method()} ${url}`);
  });
  page.context().on("requestfailed", (request) => {
    const why = request.failure()?.errorText ?? "";
    // Leaving a page abandons what it was still loading; that is no failure.
    if (why !== "net::ERR_ABORTED") problems.push(`failed: ${request.method()} ${request.url()} ${why}`);
  });
}

/** Announces a problem: it has to come, and is fine then. @param {Page} page @param {RegExp} pattern */
export function announce(page, pattern) {
  of(page).expected.push({ pattern, must: true });
}

/** Lets a problem pass that may come or not. @param {Page} page @param {RegExp} pattern */
export function tolerate(page, pattern) {
  of(page).expected.push({ pattern, must: false });
}

/** Fails on everything that was not announced, and on announcements that did not come true. @param {Page} page */
export function assertQuiet(page) {
  const { problems, expected } = of(page);
  const surprises = problems.filter((problem) => !expected.some(({ pattern }) => pattern.test(problem)));
  assert.deepEqual(surprises, [], "the page had problems that nobody announced");
  const missing = expected.filter(({ pattern, must }) => must && !problems.some((problem) => pattern.test(problem)));
  assert.deepEqual(missing.map(({ pattern }) => String(pattern)), [], "announced, but it did not happen");
}

/** The same page by night, or by day. @param {Page} page @param {"light" | "dark"} scheme */
export async function repaint(page, scheme) {
  await page.emulateMedia({ colorScheme: scheme });
  const watch = of(page);
  watch.variant = watch.variant.replace(/light|dark/, scheme);
}

/** @param {Page} page */
export function variant(page) {
  return of(page).variant;
}

/** @param {Page} page */
function of(page) {
  const watch = watches.get(page);
  assert.ok(watch, "this page was not opened by open()");
  return watch;
}
