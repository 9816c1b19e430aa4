// Words are words: whatever people write is shown, never run.

import assert from "node:assert/strict";

import { choose, dialog, message, post } from "../lib/client.js";
import { photo } from "../lib/photos.js";
import { story } from "../lib/story.js";

/** Exactly these words. @param {import("playwright-core").Page} page @param {string} text */
const words = (page, text) => message(page, new RegExp(`^${text.replace(/\W/g, "\\$&")}$`));

const ATTACKS = [
  "<script>window.hit = 1</script>",
  "<img src=x onerror=\"window.hit = 1\">",
  "\"><svg onload=window.hit=1>",
  "</title></script><script>window.hit = 1</script>",
  "' onmouseover='window.hit = 1",
  "{{constructor.constructor('window.hit = 1')()}}",
  "<!-- --><base href=//elsewhere.example>",
];

for (const javaScript of [true, false]) {
  story(`markup in words is shown as it was written${javaScript ? "" : " without JavaScript"}`, async ({ open, join }) => {
    const ada = await join("ada");
    const made = [];
    for (const message of ATTACKS) made.push(await ada.post(await photo(0, { size: [64, 64] }), { message, alt: message }));
    const page = await open({ javaScript });
    for (const path of ["/", "/@ada"]) {
      await page.goto(path);
      for (const message of ATTACKS) {
        if (path === "/") await words(page, message).waitFor();
        await page.getByRole("img", { name: message, exact: true }).first().waitFor();
      }
      assert.equal(await page.evaluate("window.hit"), undefined);
    }
    for (const [index, { id }] of made.entries()) {
      await page.goto(`/p/${id}`);
      await words(page, ATTACKS[index]).waitFor();
      assert.equal(await page.evaluate("window.hit"), undefined);
      // Read as HTML by a parser that runs nothing: what others show of a link is the message itself.
      const told = await page.evaluate(() => {
        const content = (/** @type {string} */ name) => document.querySelector(`meta[property="${name}"]`)?.getAttribute("content");
        return { description: content("og:description"), title: content("og:title"), image: content("og:image"), url: content("og:url"), base: document.querySelector("base")?.href };
      });
      assert.equal(told.description, ATTACKS[index]);
      assert.ok(told.title?.includes("ada"));
      assert.match(told.image ?? "", /^http:\/\/127\.0\.0\.1:\d+\/photos\//);
      assert.ok(told.url?.endsWith(`/p/${id}`));
      assert.equal(told.base, undefined);
    }
  });
}

story("what is loaded later is shown as it was written, too", async ({ open, join }) => {
  const ada = await join("ada");
  const small = await photo(0, { size: [64, 64] });
  for (const message of ATTACKS) await ada.post(small, { message, alt: message });
  // Enough to push them off the first page: scripts put them in, from the API.
  for (let number = 0; number < 20; number++) await ada.post(small);
  const page = await open();
  await page.goto("/");
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  for (const message of ATTACKS) {
    await words(page, message).waitFor();
    await page.getByRole("img", { name: message, exact: true }).waitFor();
  }
  assert.equal(await page.evaluate("window.hit"), undefined);
});

story("markup in an edit is shown as it was written", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "harmless" });
  const page = await open({ as: ada });
  await page.goto("/");
  await choose(post(page, "harmless"), "Edit");
  await dialog(page).getByLabel("Message").fill(ATTACKS[1]);
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await words(page, ATTACKS[1]).waitFor();
  assert.equal(await page.evaluate("window.hit"), undefined);
});
