// The feed without end, and coming back to where one was.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { home, posts } from "../lib/client.js";
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
  story(`coming back from a photo, or after a reload, one is at the same place (${device})`, async ({ open, join }) => {
    const ada = await crowd(join, 60);
    const page = await open({ device });
    await page.goto("/");
    await scrollTo(page, 45);
    const chosen = posts(page).filter({ hasText: "photo number 25." });
    const there = async () => (await chosen.boundingBox())?.y;
    // Not where a browser would put it by itself.
    await chosen.evaluate((post) => window.scrollTo({ top: scrollY + post.getBoundingClientRect().top - 123, behavior: "instant" }));
    const before = await there();
    assert.ok(before && Math.abs(before - 123) < 2, `${before}`);
    const same = async () => {
      const now = await there();
      return now !== undefined && Math.abs(now - before) < 3;
    };

    await chosen.locator(".when").click();
    await page.waitForURL("**/p/*");
    await posts(page).first().waitFor();
    // Meanwhile somebody posts: that must not push the place away.
    await ada.post(await photo(1, { size: [160, 160] }), { message: "photo number 61." });
    await page.goBack();
    assert.equal(await page.evaluate(() => /** @type {PerformanceNavigationTiming} */ (performance.getEntriesByType("navigation")[0]).type), "back_forward", "loaded anew, not woken up");
    await chosen.waitFor();
    await eventually("the photo is where it was", same);
    await page.reload();
    await chosen.waitFor();
    await eventually("it still is after a reload", same);
    const found = await numbers(page);
    assert.deepEqual(found, Array.from({ length: found.length }, (_, index) => 61 - index), "every photo once, in order");

    // A visit of its own begins at the top.
    await home(page).click();
    await posts(page).filter({ hasText: "photo number 61." }).waitFor();
    await eventually("it is the top", () => page.evaluate(() => scrollY === 0 && document.readyState === "complete"));
  });
}

story("the photos of one person go on as well", async ({ open, join }) => {
  await crowd(join, 40);
  const page = await open({ device: "desktop" });
  await page.goto("/@ada");
  const tiles = page.locator("#list li");
  assert.equal(await tiles.count(), 30);
  await eventually("all are there", async () => {
    await page.mouse.wheel(0, 2000);
    return (await tiles.count()) === 40;
  });
  const addresses = await tiles.locator("a").evaluateAll((links) => links.map((link) => /** @type {HTMLAnchorElement} */ (link).href));
  assert.equal(new Set(addresses).size, 40);
});

story("the end of the feed is an end", async ({ open, join }) => {
  await crowd(join, 25);
  const page = await open();
  await page.goto("/");
  await scrollTo(page, 25);
  await page.getByText("That was all.").waitFor();
  assert.equal(await page.getByText("Older photos").count(), 0);
  assert.equal(await posts(page).count(), 25);
});
