// Chromium by Playwright, as a phone or a desktop. Every page records its errors.

import { after } from "node:test";

import { chromium as playwright } from "playwright-core";

import { PollTimeout, within } from "./eventually.js";
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

/** How long a page or the browser may take to close. */
const CLOSE_WITHIN_MS = 10_000;

/** @typedef {{ browser: Browser, pid: number }} Running */

/** @type {Promise<Running> | undefined} */
let running;
after(async () => {
  if (running) await orKill(running, (await running).browser.close());
});

/** One Chromium per test file, with a temporary profile. */
export async function browser() {
  running ??= launch();
  return (await running).browser;
}

/** @returns {Promise<Running>} */
async function launch() {
  const browser = await playwright.launch({ executablePath: chromium(), args: CHROMIUM_FLAGS });
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const { id: pid } = /** @type {{ id: number }} */ (processInfo.find(({ type }) => type === "browser"));
  return { browser, pid };
}

/** Closes a page with its context, and all that the browser has stored for it. @param {Page} page */
export async function close(page) {
  if (running) await orKill(running, page.context().close());
}

/**
 * Chromium may never end a context whose page navigates at that moment. Then it is killed, and the next page starts
 * another one.
 * @param {Promise<Running>} closing
 * @param {Promise<void>} closed
 */
async function orKill(closing, closed) {
  try {
    await within(CLOSE_WITHIN_MS, "closing", closed);
  } catch (error) {
    if (!(error instanceof PollTimeout)) throw error;
    console.info(`Chromium is killed: ${error.message}`);
    if (running === closing) running = undefined;
    closed.catch(() => undefined);
    process.kill((await closing).pid, "SIGKILL");
  }
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
