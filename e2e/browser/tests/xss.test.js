// Cross-site scripting: user input is rendered as text, never as markup.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { chooseFromMenu, dialog, message, post } from "../lib/locators.js";
import { photo } from "../lib/photos.js";

/** A message with exactly this text. @param {import("playwright-core").Page} page @param {string} text */
const exactMessage = (page, text) => message(page, new RegExp(`^${text.replace(/\W/g, "\\$&")}$`));

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
  browserTest(`markup in messages and descriptions is shown as text${javaScript ? "" : " without JavaScript"}`, async ({ open, join }) => {
    const ada = await join("ada");
    const created = [];
    for (const message of ATTACKS) created.push(await ada.post(await photo(0, { size: [64, 64] }), { message, alt: message }));
    const page = await open({ javaScript });
    for (const path of ["/", "/@ada"]) {
      await page.goto(path);
      for (const message of ATTACKS) {
        if (path === "/") await exactMessage(page, message).waitFor();
        await page.getByRole("img", { name: message, exact: true }).first().waitFor();
      }
      assert.equal(await page.evaluate("window.hit"), undefined);
    }
    for (const [index, { id }] of created.entries()) {
      await page.goto(`/p/${id}`);
      await exactMessage(page, ATTACKS[index]).waitFor();
      assert.equal(await page.evaluate("window.hit"), undefined);
      // Link previews show the message as text too.
      const preview = await page.evaluate(() => {
        const content = (/** @type {string} */ name) => document.querySelector(`meta[property="${name}"]`)?.getAttribute("content");
        return { description: content("og:description"), title: content("og:title"), image: content("og:image"), url: content("og:url"), base: document.querySelector("base")?.href };
      });
      assert.equal(preview.description, ATTACKS[index]);
      assert.ok(preview.title?.includes("ada"));
      assert.match(preview.image ?? "", /^http:\/\/127\.0\.0\.1:\d+\/photos\//);
      assert.ok(preview.url?.endsWith(`/p/${id}`));
      assert.equal(preview.base, undefined);
    }
  });
}

browserTest("markup in posts loaded by infinite scroll is shown as text", async ({ open, join }) => {
  const ada = await join("ada");
  const small = await photo(0, { size: [64, 64] });
  for (const message of ATTACKS) await ada.post(small, { message, alt: message });
  // Enough to push them off the first page: infinite scroll renders them from the API's JSON.
  for (let number = 0; number < 20; number++) await ada.post(small);
  const page = await open();
  await page.goto("/");
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  for (const message of ATTACKS) {
    await exactMessage(page, message).waitFor();
    await page.getByRole("img", { name: message, exact: true }).waitFor();
  }
  assert.equal(await page.evaluate("window.hit"), undefined);
});

browserTest("markup in an edited message is shown as text", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "harmless" });
  const page = await open({ as: ada });
  await page.goto("/");
  await chooseFromMenu(post(page, "harmless"), "Edit");
  await dialog(page).getByLabel("Message").fill(ATTACKS[1]);
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await exactMessage(page, ATTACKS[1]).waitFor();
  assert.equal(await page.evaluate("window.hit"), undefined);
});
