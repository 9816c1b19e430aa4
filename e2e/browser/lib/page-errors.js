// Records the errors of a page: console errors, uncaught exceptions, failed requests, and requests to other
// origins. Each fails the test unless the test expected or allowed it.

import assert from "node:assert/strict";

/** @typedef {import("playwright-core").Page} Page */

/** What a browser reports while there is no network, or no server. */
export const UNREACHABLE = /ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_FAILED|Failed to fetch|status of 50\d/;

/** @typedef {{ pattern: RegExp, required: boolean }} ExpectedError */
/** @typedef {{ variant: string, errors: string[], expected: ExpectedError[] }} Recording */

/** @type {WeakMap<Page, Recording>} */
const recordings = new WeakMap();

/**
 * @param {Page} page
 * @param {string} base the only origin that the page may send requests to
 * @param {string} variant such as `phone-light`, for the names of screenshots
 */
export function recordErrors(page, base, variant) {
  /** @type {string[]} */
  const errors = [];
  recordings.set(page, { variant, errors, expected: [] });
  // Also receives violations of the content security policy and responses with status 400 or more.
  page.on("console", (message) => {
    // The connection broke during the browser's own update check of the service worker, which only tests that cut
    // the network can time. A script that is missing or does not parse is reported with another text.
    if (message.text().startsWith("An unknown error occurred when fetching the script")) return;
    if (message.type() === "error") errors.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => {
    // Evaluating code before the style sheet is loaded makes Chromium skip the view transition. Only tests do
    // that: a page's own scripts wait for its style.
    if (error.message.includes("ViewTransition opt-in disabled")) return;
    errors.push(`uncaught: ${error.stack || `${error.name} ${error.message}`} (${page.url()})`);
  });
  page.on("crash", () => errors.push("the page crashed"));
  // On the context, to include requests of the service worker.
  page.context().on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== base) errors.push(`foreign: ${request.method()} ${url}`);
  });
  page.context().on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // A navigation aborts the requests of the page it leaves, which is no error.
    if (reason !== "net::ERR_ABORTED") errors.push(`failed: ${request.method()} ${request.url()} ${reason}`);
  });
}

/** Declares an error that has to occur. @param {Page} page @param {RegExp} pattern */
export function expectError(page, pattern) {
  recordingOf(page).expected.push({ pattern, required: true });
}

/** Declares an error that may occur. @param {Page} page @param {RegExp} pattern */
export function allowError(page, pattern) {
  recordingOf(page).expected.push({ pattern, required: false });
}

/** Fails on unexpected errors, and on expected ones that did not occur. @param {Page} page */
export function assertNoErrors(page) {
  const { errors, expected } = recordingOf(page);
  const unexpected = errors.filter((error) => !expected.some(({ pattern }) => pattern.test(error)));
  assert.deepEqual(unexpected, [], "the page had unexpected errors");
  const missing = expected.filter(({ pattern, required }) => required && !errors.some((error) => pattern.test(error)));
  assert.deepEqual(missing.map(({ pattern }) => String(pattern)), [], "expected errors did not occur");
}

/** Switches between the light and the dark scheme. @param {Page} page @param {"light" | "dark"} scheme */
export async function setColorScheme(page, scheme) {
  await page.emulateMedia({ colorScheme: scheme });
  const recording = recordingOf(page);
  recording.variant = recording.variant.replace(/light|dark/, scheme);
}

/** @param {Page} page */
export function variant(page) {
  return recordingOf(page).variant;
}

/** @param {Page} page */
function recordingOf(page) {
  const recording = recordings.get(page);
  assert.ok(recording, "this page was not opened by open()");
  return recording;
}
