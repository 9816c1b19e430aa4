// The feed without end, and coming back to where one was.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { posts } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { photo } from "../lib/photos.js";
import { story } from "../lib/story.js";

/** @param {(username: string) => Promise<import("../lib/api.js").Person>} join @param {number} count */
async function crowd(join, count) {
  const ada = await join("ada");
  const small = await photo(0, { size: [160, 160] });
  for (let number = 1; number <= count; number++) await ada.post(small, { message: `photo number ${number}.` });
  return ada;
}

/** Scrolls as a hand does until there are enough posts. @param {import("playwright-core").Page} page @param {number} count */
async function scrollTo(page, count) {
  await eventually(`${count} posts are there`, async () => {
    await page.mouse.wheel(0, 2000);
    return (await posts(page).count()) >= count;
  }, 30_000);
}

/** @param {import("playwright-core").Page} page */
const numbers = async (page) => (await posts(page).allInnerTexts()).map((text) => Number(/number (\d+)\./.exec(text)?.[1]));

story("scrolling shows every photo once, in order, whatever is posted meanwhile", async ({ service, open, join }) => {
  const ada = await crowd(join, 65);
  const page = await open({ device: "desktop" });
  await page.goto("/");
  await scrollTo(page, 30);
  await ada.post(await photo(1, { size: [160, 160] }), { message: "photo number 66." });
  await scrollTo(page, 65);
  const seen = (await numbers(page)).filter((number) => number <= 65);
  assert.deepEqual(seen, Array.from({ length: 65 }, (_, index) => 65 - index));
  assert.equal((await feed(service.base)).length, 66);
});

for (const device of /** @type {const} */ (["phone", "desktop"])) {
  story(`coming back from a photo, one is at the same place (${device})`, async ({ open, join }) => {
    await crowd(join, 60);
    const page = await open({ device });
    await page.goto("/");
    await scrollTo(page, 45);
    const chosen = posts(page).filter({ hasText: "photo number 25." });
    await chosen.scrollIntoViewIfNeeded();
    const before = await eventually("the page stands still", async () => {
      const first = await chosen.boundingBox();
      await page.evaluate(() => new Promise((frame) => requestAnimationFrame(() => requestAnimationFrame(frame))));
      const second = await chosen.boundingBox();
      return first && second && first.y === second.y ? second : undefined;
    });
    await chosen.locator('a[href^="/p/"]').first().click();
    await page.waitForURL("**/p/*");
    await posts(page).first().waitFor();
    await page.goBack();
    await chosen.waitFor();
    await eventually("the photo is where it was", async () => {
      const after = await chosen.boundingBox();
      return after && Math.abs(after.y - before.y) < 8;
    });
  });
}

story("the end of the feed is an end", async ({ open, join }) => {
  await crowd(join, 25);
  const page = await open();
  await page.goto("/");
  await scrollTo(page, 25);
  await eventually("nothing older is offered", async () => !(await page.getByText("Older photos").isVisible()));
  assert.equal(await posts(page).count(), 25);
});
