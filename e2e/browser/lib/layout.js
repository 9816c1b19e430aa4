// Layout checks: overflow and layout shifts.

import assert from "node:assert/strict";

/** @typedef {import("playwright-core").Page} Page */

/** Windows that every dialog has to fit: a phone upright and turned, a laptop, a large screen. */
export const WINDOWS = [[390, 844], [844, 390], [1440, 900], [1920, 1080]].map(([width, height]) => ({ width, height }));

/** No page scrolls horizontally, and open dialogs and menus are within the window. @param {Page} page */
export async function assertFits(page) {
  const { pageWidth, screenWidth, overflowing } = await page.evaluate(() => {
    const screenWidth = document.documentElement.clientWidth;
    const pageWidth = document.documentElement.scrollWidth;
    const overflowing = [...document.body.querySelectorAll("*")].filter((element) => {
      const { right, width } = element.getBoundingClientRect();
      return width > 0 && right > screenWidth + 1;
    });
    const tags = overflowing.map((element) => `<${element.localName} class="${element.getAttribute("class") ?? ""}" id="${element.id}">`);
    return { pageWidth, screenWidth, overflowing: tags.slice(0, 10) };
  });
  assert.ok(pageWidth <= screenWidth, `${page.url()} is ${pageWidth} pixels wide on a screen of ${screenWidth}; overflowing elements: ${overflowing.join(", ")}`);
  const cut = await page.evaluate(() => [...document.querySelectorAll("dialog[open], :popover-open")].flatMap((popup) => {
    const { left, top, right, bottom } = popup.getBoundingClientRect();
    const { overflowX, overflowY } = getComputedStyle(popup);
    const isWithin = left >= 0 && top >= 0 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5;
    const isWhole = popup.scrollWidth <= popup.clientWidth || overflowX === "hidden";
    const isReachable = popup.scrollHeight <= popup.clientHeight || /auto|scroll/.test(overflowY);
    return isWithin && isWhole && isReachable ? [] : [{ id: popup.id, left, top, right, bottom, window: [innerWidth, innerHeight], isWhole, isReachable }];
  }));
  assert.deepEqual(cut, [], `${page.url()} has a dialog that does not fit the window`);
}

/**
 * Records the cumulative layout shift from the next navigation on.
 * @param {Page} page
 * @returns {Promise<() => Promise<{ score: number, moved: string[] }>>} the score so far, and what moved
 */
export async function trackLayoutShifts(page) {
  await page.addInitScript(() => {
    /** @type {{ score: number, moved: string[] }} */
    const total = { score: 0, moved: [] };
    Object.assign(window, { layoutShifts: total });
    new PerformanceObserver((list) => {
      for (const entry of /** @type {any[]} */ (list.getEntries())) {
        if (entry.hadRecentInput) continue;
        total.score += entry.value;
        total.moved.push(...entry.sources.map((/** @type {any} */ { node }) => `${entry.value.toFixed(4)} ${node?.outerHTML?.slice(0, 120) ?? node?.nodeName}`));
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  // After two frames the observer has received every shift so far.
  return () => page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return /** @type {any} */ (window).layoutShifts;
  });
}
