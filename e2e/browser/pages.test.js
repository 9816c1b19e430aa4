// Every page, on phone and desktop, in light and dark: accessible, without errors, without requests to other
// origins, and without horizontal overflow.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { assertAccessible } from "./lib/axe.js";
import { steadily } from "./lib/browser-test.js";
import { DEVICES } from "./lib/browser.js";
import { assertFits } from "./lib/layout.js";
import { setColorScheme } from "./lib/page-errors.js";
import { screenshot, waitUntilStable } from "./lib/screenshot.js";
import { seed } from "./lib/seed.js";
import { Service } from "./lib/service.js";
import { withPage } from "./lib/with-page.js";
import { pages } from "./pages.js";

/** @type {Service} */ let seeded;
/** @type {Service} */ let empty;
/** @type {import("./lib/seed.js").SeedData} */ let data;
/** @type {import("./lib/seed.js").SeedData} */ let emptyData;

before(async () => {
  [seeded, empty] = await Promise.all([Service.start(), Service.start()]);
  data = await seed(seeded);
  emptyData = await seed(empty, 0);
});
after(async () => {
  await Promise.all([seeded.dispose(), empty.dispose()]);
});

for (const entry of pages) {
  describe(entry.name, () => {
    for (const device of /** @type {const} */ (["phone", "desktop"])) {
      test(device, (t) => steadily(t, () =>
        withPage(entry, entry.empty ? emptyData : data, { device }, async (page) => {
          await screenshot(page, entry.name);
          await assertAccessible(page);
          await assertTitled(page);
          await assertFits(page);
          await setColorScheme(page, "dark");
          await screenshot(page, entry.name);
          // The only rule about colours, and only the colours changed.
          await assertAccessible(page, { only: ["color-contrast"] });
          await page.setViewportSize(DEVICES[device === "phone" ? "narrow" : "zoomed"].viewport);
          await waitUntilStable(page);
          await assertFits(page);
        })));
    }
  });
}

/** A page has a title, a language and one `h1`. @param {import("playwright-core").Page} page */
async function assertTitled(page) {
  assert.match(await page.title(), /Pinhole/);
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
}
