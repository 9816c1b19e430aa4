// Real Chromium, as a phone or a desktop, with every page under watch.

import { after } from "node:test";

import { chromium as engine } from "playwright-core";

import { chromium } from "./places.js";
import { tolerate, watch } from "./watch.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Browser} Browser */

/** For every Chromium we start. The last one lets nothing leave this machine, whatever a page asks for. */
export const FLAGS = [
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

/** The screens stories are told on. */
export const DEVICES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, userAgent: PHONE_AGENT },
  desktop: { viewport: { width: 1280, height: 900 } },
  /** The narrowest screen that has to work (WCAG 1.4.10). */
  narrow: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, userAgent: PHONE_AGENT },
  /** The desktop at 200 %: half as many CSS pixels, twice as large (WCAG 1.4.4). */
  zoomed: { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 },
};

/**
 * @typedef {object} Way how somebody comes to the service
 * @property {keyof typeof DEVICES} [device]
 * @property {"light" | "dark"} [scheme]
 * @property {string} [locale]
 * @property {boolean} [javaScript]
 * @property {boolean} [worker] whether a service worker may register; off when a story answers requests itself
 * @property {boolean} [still] asks for reduced motion
 * @property {import("./api.js").Person} [as] whose session the browser has
 */

/** @type {Promise<Browser> | undefined} */
let running;
after(async () => (await running)?.close());

/** One Chromium for a whole file of stories, with an empty profile that goes with it. */
export function browser() {
  running ??= engine.launch({ executablePath: chromium(), args: FLAGS });
  return running;
}

/**
 * A page in a browser of its own: no cookies, no cache, no worker from anybody else.
 * @param {string} base
 * @param {Way} [way]
 * @returns {Promise<Page>}
 */
export async function open(base, way = {}) {
  const { device = "phone", scheme = "light", locale = "en-GB", javaScript = true, worker = true, still = false, as } = way;
  const context = await (await browser()).newContext({
    ...DEVICES[device],
    baseURL: base,
    colorScheme: scheme,
    locale,
    timezoneId: "Europe/Berlin",
    javaScriptEnabled: javaScript,
    serviceWorkers: worker ? "allow" : "block",
    reducedMotion: still ? "reduce" : "no-preference",
  });
  // Generous: the machine may be busy with other things than us.
  context.setDefaultTimeout(20_000);
  if (as) await context.addCookies([as.session()]);
  const page = await context.newPage();
  watch(page, base, `${device}-${scheme}`);
  // That is how Chromium says that it does not run them.
  if (!javaScript) tolerate(page, /^failed: GET .*\.js csp$/);
  return page;
}

/** Makes the wire slow, in bytes per second and milliseconds. @param {Page} page */
export async function slow(page, { down = 50_000, up = 20_000, latency = 300 } = {}) {
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
