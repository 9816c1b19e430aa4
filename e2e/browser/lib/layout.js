// What can be said of a layout without looking at it.

import assert from "node:assert/strict";

/** Reading must never need scrolling sideways. @param {import("playwright-core").Page} page */
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
