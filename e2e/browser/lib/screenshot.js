// Screenshots for review by eye, taken when the page is stable.

import { mkdirSync } from "node:fs";
import path from "node:path";

import { variant } from "./page-errors.js";
import { screenshots } from "./paths.js";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Writes `target/screenshots/NAME--phone-light.png`.
 * @param {Page} page
 * @param {string} name
 * @param {{ full?: boolean, immediately?: boolean }} [options] the whole page; without waiting for stability
 */
export async function screenshot(page, name, { full = false, immediately = false } = {}) {
  if (!immediately) await waitUntilStable(page, { full });
  await capture(page, `${name}--${variant(page)}`, full);
}

/** How long an image or an animation may take. Those of contents that are not rendered may never finish. */
const STABLE_WITHIN_MS = 15_000;

/** Waits until fonts and images are loaded and every finite animation has finished. */
export async function waitUntilStable(/** @type {Page} */ page, { full = false } = {}) {
  await page.waitForLoadState("load");
  await page.evaluate(async ({ full, limit }) => {
    const timeout = new Promise((resolve) => setTimeout(resolve, limit));
    await document.fonts.ready;
    const isVisible = (/** @type {Element} */ image) => {
      const { top, bottom, width } = image.getBoundingClientRect();
      return width > 0 && bottom >= 0 && top <= innerHeight;
    };
    const images = [...document.images].filter((image) => full || isVisible(image));
    // A full-page screenshot does not scroll, so lazy images would never load.
    for (const image of images) image.loading = "eager";
    // A broken image counts as loaded here; `assertNoErrors` reports it.
    await Promise.race([Promise.all(images.map((image) => image.decode().catch(() => undefined))), timeout]);
    const finite = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.race([Promise.allSettled(finite.map((animation) => animation.finished)), timeout]);
  }, { full, limit: STABLE_WITHIN_MS });
}

/** The last state of a failed test. Its own errors are only logged, so that they do not hide the failure. */
export async function screenshotFailure(/** @type {Page} */ page, /** @type {string} */ name) {
  try {
    await capture(page, name.replace(/[^a-z0-9-]+/gi, "-"), false);
  } catch (error) {
    console.error(`no screenshot of ${name}: ${error}`);
  }
}

/** @param {Page} page @param {string} name @param {boolean} full */
async function capture(page, name, full) {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: full, animations: "disabled", caret: "hide" });
}
