// Messages: links, names, tags, and what is cut in the feed.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { chooseFromMenu, composer, dialog, message, post, waitForPath } from "../lib/locators.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

const TEXT = [
  "With @bob at (https://example.org/a?b=c&d), not ada@example.org or @<b>.",
  // The rule of tags, which the server and the script have to agree on.
  "#Österreich, („#日本語“) #日本語、写真 #हिन्दी #ΟΔΟΣ #well-known #one#two #1st #_ #e\u0301t\u00e9\u00a0#a_1!",
  "#2026 a#b # #- #٢٠ #½ #🙂 #\ufe0f\u20e3 #1\ufe0f\u20e3 \ufeff#bom",
  `#${"İ".repeat(32)} #${"İ".repeat(33)} #${"ä".repeat(64)} #${"ä".repeat(65)}`,
].join("\n");
const TAGS = ["Österreich", "日本語", "日本語", "हिन्दी", "ΟΔΟΣ", "well", "one", "1st", "_", "e\u0301t\u00e9", "a_1", "İ".repeat(32), "ä".repeat(64)];
const LINKS = [
  ["@bob", "/@bob"],
  ["https://example.org/a?b=c&d", "https://example.org/a?b=c&d"],
  ...TAGS.map((tag) => [`#${tag}`, `/tags/${encodeURIComponent(tag.toLowerCase())}`]),
];

for (const javaScript of [true, false]) {
  browserTest(`addresses, names and tags in messages are links${javaScript ? "" : " without JavaScript"}`, async ({ open, join }) => {
    const [ada] = [await join("ada"), await join("bob")];
    await ada.post(await photo(0), { message: TEXT });
    const page = await open({ javaScript, as: javaScript ? ada : undefined });
    await page.goto("/");
    const links = () => message(page, "With").locator("a").evaluateAll((found) => found.map((link) => [link.textContent, link.getAttribute("href")]));
    assert.equal(await message(page, "With").textContent(), TEXT);
    assert.deepEqual(await links(), LINKS);
    assert.match((await message(page, "With").getByRole("link", { name: "example.org" }).getAttribute("rel")) ?? "", /noopener/);
    if (javaScript) {
      await chooseFromMenu(post(page, "With"), "Edit");
      await dialog(page).getByLabel("Message").fill(`${TEXT}\nAgain @bob`);
      await dialog(page).getByRole("button", { name: "Save" }).click();
      await dialog(page).waitFor({ state: "hidden" });
      assert.deepEqual(await links(), [...LINKS, ["@bob", "/@bob"]], "rendered by the script");
    }
    await message(page, "With").getByRole("link", { name: "@bob" }).first().click();
    await waitForPath(page, "/@bob");
  });
}

/**
 * Whether the characters stand from left to right, line by line.
 * @param {import("playwright-core").Locator} element
 */
const isInOrder = (element) => element.evaluate((element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {{ top: number, left: number }[]} */
  const positions = [];
  while (texts.nextNode()) {
    for (let at = 0; at < (texts.currentNode.textContent ?? "").length; at++) {
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + 1);
      const { width, top, left } = range.getBoundingClientRect();
      if (width > 0) positions.push({ top, left });
    }
  }
  return positions.length > 0 && positions.every(({ top, left }, at) => !at || top > positions[at - 1].top || left >= positions[at - 1].left);
});

browserTest("a control character in a message turns neither its links nor what stands behind it", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "below" });
  await ada.post(await photo(1), { message: "With \u202e @ada #tag https://example.org/abc\nno link: https://example.org/\u202egpj.exe" });
  const page = await open({ device: "desktop" });
  await page.goto("/");
  assert.equal(await isInOrder(message(page, "With")), false, "the text is turned");
  const links = await message(page, "With").getByRole("link").all();
  const parts = ["name", "timestamp", "likes"].flatMap((slot) => ["With", "below"].map((text) => post(page, text).locator(`[data-slot="${slot}"]`)));
  assert.equal(links.length, 3);
  for (const part of [...links, ...parts, message(page, "below")]) assert.ok(await isInOrder(part), `${await part.textContent()} is turned`);
});

browserTest("a tag in a message leads to all posts with it", async ({ open, join }) => {
  const ada = await join("ada");
  for (let number = 0; number < 31; number++) await ada.post(await photo(0, { size: [40, 30] }), { message: `number ${number} #Österreich` });
  const page = await open({});
  await page.goto("/");
  await message(page, "number 30").getByRole("link", { name: "#Österreich" }).click();
  await page.getByRole("heading", { level: 1, name: "#österreich" }).waitFor();
  assert.equal(await page.title(), "#österreich · Pinhole");
  await eventually("the next page is loaded", async () => (await page.locator("#post-list > li").count()) === 31);
});

browserTest("a message that the feed cuts leads to the whole of it", async ({ open, join }) => {
  const ada = await join("ada");
  const long = "A sentence of a long report. ".repeat(30);
  // Long enough to be cut on a phone only.
  const medium = "A sentence of a report. ".repeat(15);
  await ada.post(await photo(0), { message: long });
  await ada.post(await photo(1), { message: medium });
  await ada.post(await photo(2), { message: "short" });
  const shown = (/** @type {import("playwright-core").Page} */ page) => page.getByRole("link", { name: "Read more ada" }).filter({ visible: true }).count();
  const [phone, desktop] = [await open({}), await open({ device: "desktop" })];
  for (const page of [phone, desktop]) await page.goto("/");
  await eventually("two are cut on the phone", async () => (await shown(phone)) === 2);
  await eventually("one is cut on the desktop", async () => (await shown(desktop)) === 1);
  await screenshot(phone, "read-more");
  await post(desktop, "long report").getByRole("link", { name: "Read more" }).click();
  await desktop.waitForURL("**/p/*");
  const { clipped, text } = await message(desktop, "long report").evaluate((line) => ({ clipped: getComputedStyle(line).webkitLineClamp, text: line.textContent }));
  assert.deepEqual([clipped, text], ["none", long]);
});

browserTest("the bars do not cover the fields of the composer", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "narrow" });
  for (const [width, height] of [[320, 256], [390, 844], [844, 390]]) {
    await page.setViewportSize({ width, height });
    await page.goto("/new");
    const { files, messages, descriptions, post: send } = composer(page);
    if (height === 256) await files.setInputFiles(await file(0));
    for (const field of [messages, descriptions, send]) {
      await field.focus();
      const isReachable = await field.evaluate((element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        const middle = document.elementFromPoint(left + width / 2, top + height / 2);
        return element.contains(middle);
      });
      assert.ok(isReachable, `another element is above ${field} at ${width} × ${height}`);
    }
    await screenshot(page, `composer-${height}`);
  }
});
