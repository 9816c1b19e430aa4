// Infinite scroll, and scroll restoration.

import assert from "node:assert/strict";

import { chromium as playwright } from "playwright-core";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { CHROMIUM_FLAGS, DEVICES } from "../lib/browser.js";
import { eventually } from "../lib/eventually.js";
import { home, posts } from "../lib/locators.js";
import { assertMarkup } from "../lib/markup.js";
import { chromium } from "../lib/paths.js";
import { photo } from "../lib/photos.js";

/** @param {(username: string) => Promise<import("../lib/api.js").ApiUser>} join @param {number} count */
async function createPosts(join, count) {
  const ada = await join("ada");
  const small = await photo(0, { size: [160, 160] });
  for (let number = 1; number <= count; number++) await ada.post(small, { message: `photo number ${number}.` });
  return ada;
}

/** Scrolls by mouse wheel. @param {import("playwright-core").Page} page @param {number} count */
async function scrollUntilLoaded(page, count) {
  await eventually(`${count} posts are loaded`, async () => {
    await page.mouse.wheel(0, 2000);
    return (await posts(page).count()) >= count;
  }, 30_000);
}

/** @param {import("playwright-core").Page} page */
const numbers = async (page) => (await posts(page).allTextContents()).map((text) => Number(/number (\d+)\./.exec(text)?.[1]));

browserTest("scrolling shows every post once, in order, also when one is added meanwhile", async ({ service, open, join }) => {
  const ada = await createPosts(join, 65);
  const page = await open({ device: "desktop" });
  await page.goto("/");
  await scrollUntilLoaded(page, 30);
  await ada.post(await photo(1, { size: [160, 160] }), { message: "photo number 66." });
  await scrollUntilLoaded(page, 65);
  const seen = (await numbers(page)).filter((number) => number <= 65);
  assert.deepEqual(seen, Array.from({ length: 65 }, (_, index) => 65 - index));
  await assertMarkup(page);
  assert.equal((await feed(service.base)).length, 66);
});

for (const device of /** @type {const} */ (["phone", "desktop"])) {
  browserTest(`back navigation and reload restore the scroll position (${device})`, async ({ open, join }) => {
    const ada = await createPosts(join, 60);
    const page = await open({ device });
    await page.goto("/");
    await scrollUntilLoaded(page, 45);
    const chosen = posts(page).filter({ hasText: "photo number 25." });
    const offset = async () => (await chosen.boundingBox())?.y;
    // At an offset that the browser would not choose by itself.
    await chosen.evaluate((post) => window.scrollTo({ top: scrollY + post.getBoundingClientRect().top - 123, behavior: "instant" }));
    const before = await offset();
    assert.ok(before && Math.abs(before - 123) < 2, `${before}`);
    const isRestored = async () => {
      const now = await offset();
      return now !== undefined && Math.abs(now - before) < 3;
    };

    await chosen.locator(".timestamp").click();
    await page.waitForURL("**/p/*");
    await posts(page).first().waitFor();
    // A new post at the top must not shift the position.
    await ada.post(await photo(1, { size: [160, 160] }), { message: "photo number 61." });
    await page.goBack();
    assert.equal(await page.evaluate(() => /** @type {PerformanceNavigationTiming} */ (performance.getEntriesByType("navigation")[0]).type), "back_forward", "expected a new load, not the back/forward cache");
    await chosen.waitFor();
    await eventually("the post is at its old offset", isRestored);
    await page.reload();
    await chosen.waitFor();
    await eventually("it is at its old offset after a reload", isRestored);
    const shown = await numbers(page);
    assert.deepEqual(shown, Array.from({ length: shown.length }, (_, index) => 61 - index), "expected every post once, in order");

    // A followed link opens the feed at the top.
    await home(page).click();
    await posts(page).filter({ hasText: "photo number 61." }).waitFor();
    await eventually("the page is at the top", () => page.evaluate(() => scrollY === 0 && document.readyState === "complete"));
  });
}

/** Texts of different heights, so that a card that was not laid out yet has another height than it will have. */
const lines = (/** @type {number} */ number) => "A line of text. ".repeat(9 * (number % 5));

for (const [view, count] of /** @type {const} */ ([["list", 150], ["columns", 90]])) {
  browserTest(`back returns to the same post of a long feed, at the same place (${view})`, async ({ open, join }) => {
    const ada = await join("ada");
    const small = await photo(0, { size: [160, 160] });
    for (let number = 1; number <= count; number++) await ada.post(small, { message: `photo number ${number}. ${lines(number)}` });
    const page = await open({ device: view === "list" ? "phone" : "desktop" });
    await page.goto(`/?view=${view}`);
    await scrollUntilLoaded(page, count - 5);
    // Cards far from the window are not laid out.
    assert.equal(await posts(page).nth(30).evaluate((card) => getComputedStyle(card).contentVisibility), "auto");
    const chosen = posts(page).filter({ hasText: "photo number 12." });
    await chosen.scrollIntoViewIfNeeded();
    await page.mouse.wheel(0, 37);
    const offset = async () => (await chosen.boundingBox())?.y ?? NaN;
    const isStill = async () => {
      const before = await offset();
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      return (await offset()) === before;
    };
    await eventually("the page is still", isStill);
    const before = await offset();
    await chosen.locator(".timestamp").click();
    await page.waitForURL("**/p/*");
    await posts(page).first().waitFor();
    await page.goBack();
    await eventually("it is where it was", async () => Math.abs((await offset().catch(() => NaN)) - before) <= 1);
    await eventually("the page is still", isStill);
    assert.ok(Math.abs((await offset()) - before) <= 1, `${before}, then ${await offset()}`);

    // Cards that are laid out above the window for the first time do not push what is read.
    const readAt = () => posts(page).evaluateAll((cards) => {
      const card = /** @type {HTMLElement} */ (cards.find((other) => other.getBoundingClientRect().bottom > 200));
      return { id: card.dataset.post, top: card.getBoundingClientRect().top };
    });
    for (let step = 0; step < 8; step++) {
      const { id, top } = await readAt();
      await page.mouse.wheel(0, -300);
      await eventually("the wheel has scrolled by 300 pixels", async () => Math.abs(((await page.locator(`[data-post="${id}"]`).boundingBox())?.y ?? NaN) - top - 300) <= 1);
    }
  });
}

browserTest("the browser keeps a feed for the way back, with all posts that were loaded", async ({ service, join }) => {
  await createPosts(join, 60);
  // Playwright switches the back/forward cache off for all other tests.
  const browser = await playwright.launch({ executablePath: chromium(), args: CHROMIUM_FLAGS, ignoreDefaultArgs: ["--disable-back-forward-cache"] });
  try {
    const page = await browser.newPage({ ...DEVICES.phone, baseURL: service.base });
    await page.goto("/");
    await scrollUntilLoaded(page, 60);
    await page.evaluate(() => addEventListener("pageshow", (event) => (document.body.dataset.kept = String(event.persisted))));
    await posts(page).last().locator(".timestamp").click();
    await page.waitForURL("**/p/*");
    await page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
    await page.goBack({ waitUntil: "commit" });
    await page.locator("body[data-kept=true]").waitFor();
    assert.equal(await posts(page).count(), 60);
  } finally {
    await browser.close();
  }
});

browserTest("profiles have infinite scroll as well", async ({ open, join }) => {
  await createPosts(join, 40);
  const page = await open({ device: "desktop" });
  await page.goto("/@ada");
  const tiles = page.locator("#post-list li");
  assert.equal(await tiles.count(), 30);
  await eventually("all tiles are loaded", async () => {
    await page.mouse.wheel(0, 2000);
    return (await tiles.count()) === 40;
  });
  const urls = await tiles.locator("a").evaluateAll((links) => links.map((link) => /** @type {HTMLAnchorElement} */ (link).href));
  assert.equal(new Set(urls).size, 40);
});

browserTest("the end of the feed is shown", async ({ open, join }) => {
  await createPosts(join, 25);
  const page = await open();
  await page.goto("/");
  await scrollUntilLoaded(page, 25);
  await page.getByText("That was all.").waitFor();
  assert.equal(await page.getByText("Older photos").count(), 0);
  assert.equal(await posts(page).count(), 25);
});
