// Screenshots for people to look at, taken when nothing moves any more.

import { mkdirSync } from "node:fs";
import path from "node:path";

import { screenshots } from "./places.js";
import { variant } from "./watch.js";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Writes `target/screenshots/NAME--phone-light.png`.
 * @param {Page} page
 * @param {string} name
 * @param {{ full?: boolean, waiting?: boolean }} [options] the whole page instead of one screen; as it is while it waits
 */
export async function look(page, name, { full = false, waiting = false } = {}) {
  if (!waiting) await settle(page, { full });
  await shoot(page, `${name}--${variant(page)}`, full);
}

/** Waits until fonts and images are there and every animation that has an end has ended. */
export async function settle(/** @type {Page} */ page, { full = false } = {}) {
  await page.waitForLoadState("load");
  await page.evaluate(async (full) => {
    await document.fonts.ready;
    const seen = (/** @type {Element} */ image) => {
      const { top, bottom, width } = image.getBoundingClientRect();
      return width > 0 && bottom >= 0 && top <= innerHeight;
    };
    const images = [...document.images].filter((image) => full || seen(image));
    // A picture that is waiting to be scrolled to would never load in a screenshot of the whole page.
    for (const image of images) image.loading = "eager";
    // A broken picture has ended as well; that it is broken is for the watch to say.
    await Promise.all(images.map((image) => image.decode().catch(() => undefined)));
    const ends = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ends.map((animation) => animation.finished));
  }, full);
}

/** What a failed story saw last. It must not hide the failure itself, so it says only in words when it cannot. @param {Page} page @param {string} name */
export async function keep(page, name) {
  try {
    await shoot(page, name.replace(/[^a-z0-9-]+/gi, "-"), false);
  } catch (error) {
    console.error(`no screenshot of ${name}: ${error}`);
  }
}

/** @param {Page} page @param {string} name @param {boolean} full */
async function shoot(page, name, full) {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: full, animations: "disabled", caret: "hide" });
}
