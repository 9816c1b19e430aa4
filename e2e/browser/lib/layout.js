// What can be said of a layout without looking at it.

import assert from "node:assert/strict";

/** @typedef {import("playwright-core").Page} Page */

/** Reading must never need scrolling sideways. @param {Page} page */
export async function assertFits(page) {
  const { wide, screen, culprits } = await page.evaluate(() => {
    const screen = document.documentElement.clientWidth;
    const wide = document.documentElement.scrollWidth;
    const culprits = [...document.body.querySelectorAll("*")].filter((element) => {
      const { right, width } = element.getBoundingClientRect();
      return width > 0 && right > screen + 1;
    });
    const named = culprits.map((element) => `<${element.localName} class="${element.getAttribute("class") ?? ""}" id="${element.id}">`);
    return { wide, screen, culprits: named.slice(0, 10) };
  });
  assert.ok(wide <= screen, `${page.url()} is ${wide} pixels wide on a screen of ${screen}; look at ${culprits.join(", ")}`);
}

/**
 * Counts from the next page on how much of what one reads moves by itself (the cumulative layout shift).
 * @param {Page} page
 * @returns {Promise<() => Promise<{ score: number, moved: string[] }>>} what moved so far
 */
export async function shifts(page) {
  await page.addInitScript(() => {
    /** @type {{ score: number, moved: string[] }} */
    const sofar = { score: 0, moved: [] };
    Object.assign(window, { shifts: sofar });
    new PerformanceObserver((list) => {
      for (const entry of /** @type {any[]} */ (list.getEntries())) {
        if (entry.hadRecentInput) continue;
        sofar.score += entry.value;
        sofar.moved.push(...entry.sources.map((/** @type {any} */ { node }) => `${entry.value.toFixed(4)} ${node?.outerHTML?.slice(0, 120) ?? node?.nodeName}`));
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  // Two frames later everything that was laid out has been reported.
  return () => page.evaluate(async () => {
    await new Promise((frame) => requestAnimationFrame(() => requestAnimationFrame(frame)));
    return /** @type {any} */ (window).shifts;
  });
}
