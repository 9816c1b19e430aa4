// The views of the feed, new posts, the introduction, theme and language, sharing, and more by the author.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { post, posts, toast } from "../lib/locators.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

/** @typedef {import("playwright-core").Page} Page */

/** How many posts are in the first row. @param {Page} page */
const columns = (page) =>
  posts(page).evaluateAll((cards) => {
    const tops = cards.map((card) => Math.round(card.getBoundingClientRect().top));
    return tops.filter((top) => top === tops[0]).length;
  });

browserTest("the feed has a column view from 1100 pixels, and keeps the view that was chosen", async ({ service, open }) => {
  await seed(service, 12);
  const page = await open({ device: "desktop" });
  for (const [width, count] of [[1100, 3], [1440, 4], [1920, 5]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto("/?view=columns");
    assert.equal(await columns(page), count, `columns at ${width} pixels`);
  }
  await page.goto("/");
  assert.equal(await columns(page), 5);
  await page.setViewportSize({ width: 1000, height: 900 });
  assert.equal(await columns(page), 1);
  assert.equal(await page.getByRole("link", { name: "Columns" }).count(), 0);
  await page.getByRole("link", { name: "Grid" }).click();
  await eventually("the grid is shown", async () => (await columns(page)) === 3);
  // Posts that are loaded while scrolling look the same.
  assert.equal(await page.locator(".post-foot").filter({ visible: true }).count(), 0);
});

browserTest("the view works without scripts", async ({ service, open }) => {
  await seed(service, 6);
  const page = await open({ device: "desktop", javaScript: false });
  await page.goto("/");
  await page.getByRole("link", { name: "Grid" }).click();
  await eventually("the grid is loaded", async () => (await columns(page)) === 5);
  await page.goto("/");
  assert.equal(await columns(page), 5);
});

browserTest("a card has one left edge and one right edge", async ({ service, open }) => {
  const { ada } = await seed(service, 2);
  const page = await open({ device: "desktop", as: ada });
  await page.goto("/");
  const edges = await posts(page).first().evaluate((card) => {
    const box = (/** @type {string} */ selector) => /** @type {Element} */ (card.querySelector(selector)).getBoundingClientRect();
    return {
      left: [box(".avatar").left, box(".photo").left, box(".like .icon").left, box(".message").left],
      right: [box(".timestamp").right, box(".photo").right, box('[data-slot="more"] .icon').right],
    };
  });
  for (const side of [edges.left, edges.right]) {
    // Icons have up to two pixels of space around their strokes.
    for (const edge of side) assert.ok(Math.abs(edge - side[1]) <= 2, JSON.stringify(edges));
  }
});

browserTest("new posts are announced, and shown on request", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  await ada.post(await photo(0), { message: "the first" });
  const page = await open({ as: bob, device: "desktop", serviceWorker: false });
  /** @type {number[]} */
  const answers = [];
  page.on("response", (response) => response.url().includes("/feed?limit=") && answers.push(response.status()));
  await page.goto("/");
  const poll = () => page.evaluate(() => document.dispatchEvent(new Event("pinhole:poll")));
  await poll();
  await eventually("the first poll is answered", () => answers.length === 1);
  await poll();
  await eventually("nothing is sent while nothing is new", () => answers.length === 2 && answers[1] === 304);
  for (const number of [1, 2]) await ada.post(await photo(number), { message: `new ${number}` });
  await poll();
  const pill = page.getByRole("button", { name: "2 new photos" });
  await pill.waitFor();
  await screenshot(page, "feed-new-posts");
  assert.equal(await posts(page).count(), 1);
  await pill.click();
  assert.deepEqual(await page.locator(".message").allInnerTexts(), ["new 2", "new 1", "the first"]);
  await pill.waitFor({ state: "hidden" });
});

browserTest("the introduction is shown until it is closed, and not to members", async ({ service, open }) => {
  const { ada } = await seed(service, 2);
  const [guest, member] = [await open(), await open({ as: ada })];
  const title = (/** @type {Page} */ page) => page.getByRole("heading", { level: 1, name: "A small hole, a whole picture." });
  await member.goto("/");
  assert.equal(await title(member).count(), 0);
  await guest.goto("/");
  await title(guest).waitFor();
  assert.equal(await guest.locator(".promises li").count(), 3);
  await guest.getByRole("button", { name: "Just look around" }).click();
  assert.equal(await title(guest).count(), 0);
  await guest.goto("/");
  assert.equal(await title(guest).count(), 0);
});

browserTest("theme and language are chosen in the settings", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/settings");
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByLabel("Theme").selectOption("Dark");
  await page.locator('html[data-theme="dark"]').waitFor();
  assert.notEqual(await background(), light);
  await page.getByLabel("Language").selectOption("Deutsch");
  await page.getByRole("heading", { level: 1, name: "Einstellungen" }).waitFor();
  await page.goto("/");
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  assert.notEqual(await background(), light);
  await page.goto("/settings");
  await page.getByLabel("Sprache").selectOption("");
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  await page.getByLabel("Theme").selectOption("");
  await page.locator("html:not([data-theme])").waitFor();
});

browserTest("a post's page has buttons to share and copy, and more by its author", async ({ service, open, join }) => {
  const ada = await join("ada");
  const all = [];
  for (const number of [0, 1, 2]) all.push(await ada.post(await photo(number), { message: `photo ${number}` }));
  const page = await open({ device: "desktop" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.base });
  await page.addInitScript(() => Object.assign(navigator, { share: (/** @type {any} */ { url }) => Promise.resolve(Object.assign(window, { shared: url })) }));
  await page.goto(`/p/${all[1].id}`);
  await page.getByRole("button", { name: "Copy link" }).click();
  await toast(page).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${service.base}/p/${all[1].id}`);
  await page.getByRole("heading", { name: "More by ada" }).waitFor();
  const others = await page.locator(".more-by [data-post]").evaluateAll((tiles) => tiles.map((tile) => tile.getAttribute("data-post")));
  assert.deepEqual(others, [String(all[2].id), String(all[0].id)]);
  await page.getByRole("button", { name: "Share…" }).click();
  assert.equal(await page.evaluate("window.shared"), `${service.base}/p/${all[1].id}`);
  await page.locator(".more-by [data-post]").first().click();
  await post(page, "photo 2").waitFor();
});

browserTest("a browser without a share sheet has one way to pass a post on: its link", async ({ service, open }) => {
  const { posts: all } = await seed(service, 22);
  const page = await open({ device: "desktop" });
  const share = page.getByRole("button", { name: "Share…" });
  await page.goto(`/p/${all[0].id}`);
  await page.getByRole("button", { name: "Copy link" }).waitFor();
  await eventually("the page has no button to share", async () => (await share.count()) === 0);
  await page.goto("/");
  await eventually("older posts are loaded", async () => {
    await page.mouse.wheel(0, 4000);
    return (await posts(page).count()) === 22;
  });
  assert.equal(await share.count(), 0);
});

browserTest("letter avatars have hues, the same from the server and from scripts", async ({ service, open }) => {
  await seed(service, 24);
  const page = await open({ device: "desktop" });
  await page.goto("/");
  const hues = () => posts(page).evaluateAll((cards) => cards.map((card) => [/** @type {HTMLElement} */ (card).dataset.author, card.querySelector(".avatar")?.getAttribute("data-hue")].join()));
  const first = new Set(await hues());
  await eventually("older posts are loaded", async () => {
    await page.mouse.wheel(0, 4000);
    return (await posts(page).count()) === 24;
  });
  for (const pair of await hues()) assert.ok(first.has(pair), `${pair} is not among ${[...first].join(" ")}`);
});

browserTest("a printed post is its photo and its text", async ({ service, open }) => {
  const { posts: all } = await seed(service, 3);
  const page = await open({ device: "desktop" });
  await page.goto(`/p/${all[0].id}`);
  await page.emulateMedia({ media: "print" });
  for (const selector of [".app-bar", ".post-foot", ".more-by"]) assert.ok(await page.locator(selector).first().isHidden(), selector);
  assert.ok(await page.locator(".picture").first().isVisible());
});
