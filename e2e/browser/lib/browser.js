// Chromium by Playwright, as a phone or a desktop. Every page records its errors.

import { after } from "node:test";

import { chromium as playwright } from "playwright-core";

import { allowError, recordErrors } from "./page-errors.js";
import { chromium } from "./paths.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Browser} Browser */

/** For every Chromium that the tests start. The last flag blocks all hosts but this machine. */
export const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

const PHONE_AGENT =
  "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Mobile Safari/537.36";

export const DEVICES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, userAgent: PHONE_AGENT },
  desktop: { viewport: { width: 1280, height: 900 } },
  /** The narrowest screen that has to work (WCAG 1.4.10). */
  narrow: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, userAgent: PHONE_AGENT },
  /** The desktop at 200 %: half as many CSS pixels, twice as large (WCAG 1.4.4). */
  zoomed: { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 },
};

/**
 * @typedef {object} PageOptions
 * @property {keyof typeof DEVICES} [device]
 * @property {"light" | "dark"} [scheme]
 * @property {string} [locale]
 * @property {boolean} [javaScript]
 * @property {boolean} [serviceWorker] whether one may register; off when a test fulfils requests itself
 * @property {boolean} [reducedMotion]
 * @property {import("./api.js").ApiUser} [as] whose session the browser has
 */

/** @type {Promise<Browser> | undefined} */
let running;
after(async () => (await running)?.close());

/** One Chromium per test file, with a temporary profile. */
export function browser() {
  running ??= playwright.launch({ executablePath: chromium(), args: CHROMIUM_FLAGS });
  return running;
}

/**
 * A page in a browser context of its own: no cookies, cache or service worker from other tests.
 * @param {string} base
 * @param {PageOptions} [options]
 * @returns {Promise<Page>}
 */
export async function open(base, options = {}) {
  const { device = "phone", scheme = "light", locale = "en-GB", javaScript = true, serviceWorker = true, reducedMotion = false, as } = options;
  const context = await (await browser()).newContext({
    ...DEVICES[device],
    baseURL: base,
    colorScheme: scheme,
    locale,
    timezoneId: "Europe/Berlin",
    javaScriptEnabled: javaScript,
    serviceWorkers: serviceWorker ? "allow" : "block",
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
  });
  // Long, because the machine may be busy with other suites.
  context.setDefaultTimeout(20_000);
  if (as) await context.addCookies([as.sessionCookie()]);
  const page = await context.newPage();
  recordErrors(page, base, `${device}-${scheme}`);
  // With JavaScript disabled Chromium reports every script as blocked.
  if (!javaScript) allowError(page, /^failed: GET .*\.js csp$/);
  return page;
}

/**
 * Throttles the network, in bytes per second and milliseconds.
 * @param {Page} page
 * @returns {Promise<() => Promise<void>>} ends the throttling
 */
export async function throttle(page, { down = 50_000, up = 20_000, latency = 300 } = {}) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    downloadThroughput: down,
    uploadThroughput: up,
    latency,
  });
  return () => session.detach();
}
