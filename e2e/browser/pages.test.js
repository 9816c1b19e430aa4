// Every page, on a phone and a desktop, by day and by night: accessible, quiet, talking to nobody else, and fitting.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { assertAccessible } from "./lib/axe.js";
import { DEVICES } from "./lib/browser.js";
import { assertFits } from "./lib/layout.js";
import { look, settle } from "./lib/look.js";
import { scene } from "./lib/scene.js";
import { Service } from "./lib/service.js";
import { visit } from "./lib/visit.js";
import { repaint } from "./lib/watch.js";
import { pages } from "./pages.js";

/** @type {Service} */ let lively;
/** @type {Service} */ let empty;
/** @type {import("./lib/scene.js").Scene} */ let full;
/** @type {import("./lib/scene.js").Scene} */ let bare;

before(async () => {
  [lively, empty] = await Promise.all([Service.start(), Service.start()]);
  full = await scene(lively.base);
  bare = await scene(empty.base, 0);
});
after(async () => {
  await Promise.all([lively.end(), empty.end()]);
});

for (const entry of pages) {
  describe(entry.name, () => {
    for (const device of /** @type {const} */ (["phone", "desktop"])) {
      test(device, () =>
        visit(entry, entry.empty ? bare : full, { device }, async (page) => {
          await look(page, entry.name);
          await assertAccessible(page);
          await assertNamed(page);
          await assertFits(page);
          await repaint(page, "dark");
          await look(page, entry.name);
          // Of all rules this is the one about colours, and colours are all that changed.
          await assertAccessible(page, { only: ["color-contrast"] });
          await page.setViewportSize(DEVICES[device === "phone" ? "narrow" : "zoomed"].viewport);
          await settle(page);
          await assertFits(page);
        }));
    }
  });
}

/** Tabs, bookmarks and screen readers call a page by these. @param {import("playwright-core").Page} page */
async function assertNamed(page) {
  assert.match(await page.title(), /Pinhole/);
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
}
