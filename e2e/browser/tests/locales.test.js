// Locales: German, the English fallback, and right-to-left messages.

import assert from "node:assert/strict";

import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { DEVICES } from "../lib/browser.js";
import { eventually } from "../lib/eventually.js";
import { assertFits } from "../lib/layout.js";
import { message, posts } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

const ENGLISH = ["Log in", "Join", "New photo", "Older photos", "Username", "Password", "Choose photos", "Post", "More", "Log out", "Like", "To the newest photos"];

browserTest("every page is German for a German browser", async ({ service, open }) => {
  const { ada, posts: all } = await seed(service);
  const [guest, member] = [await open({ locale: "de-DE" }), await open({ locale: "de-DE", as: ada, device: "desktop" })];
  for (const [page, path, name] of /** @type {const} */ ([
    [guest, "/", "feed-german"],
    [guest, "/join", "join-german"],
    [guest, "/login", "login-german"],
    [guest, "/offline", "offline-german"],
    [member, "/new", "new-german"],
    [member, "/@ada", "profile-german"],
    [member, `/p/${all[0].id}`, "post-german"],
  ])) {
    await page.goto(path);
    await page.getByRole("heading").first().waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "de", path);
    for (const label of ENGLISH) {
      for (const role of /** @type {const} */ (["link", "button", "textbox"])) {
        assert.equal(await page.getByRole(role, { name: label, exact: true }).count(), 0, `${path}: expected no English label “${label}”`);
      }
    }
    await screenshot(page, name);
    await assertAccessible(page);
    // German labels are longer: the navigation must neither overflow nor overlap.
    for (const device of /** @type {const} */ (["phone", "narrow"])) {
      await page.setViewportSize(DEVICES[device].viewport);
      await assertFits(page);
      const links = await page.locator(".brand, .nav a").filter({ visible: true }).all();
      const boxes = await Promise.all(links.map((link) => link.boundingBox()));
      for (const [index, one] of boxes.entries()) {
        for (const other of boxes.slice(index + 1)) {
          assert.ok(one && other);
          const apart = one.x + one.width <= other.x + 1 || other.x + other.width <= one.x + 1 || one.y + one.height <= other.y + 1 || other.y + other.height <= one.y + 1;
          assert.ok(apart, `${path} on ${device}: links overlap: ${JSON.stringify([one, other])}`);
        }
      }
      if (device === "narrow") await screenshot(page, `${name}-narrow`);
    }
  }
});

browserTest("messages of scripts are German for a German browser", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "Morgens" });
  const page = await open({ locale: "de-DE", as: ada, serviceWorker: false });
  await page.route("**/likes", (route) => route.fulfill({ status: 500, json: {} }));
  expectError(page, /status of 500/);
  await page.goto("/");
  assert.match(await posts(page).locator("time").innerText(), /^(vor \d+ \S+|gerade eben)$/);
  await page.getByRole("button", { name: "Gefällt mir" }).click();
  await page.getByRole("status").filter({ hasText: "wurde nicht gespeichert" }).waitFor();
  await page.getByRole("button", { name: "Mehr" }).click();
  await page.getByRole("button", { name: "Bearbeiten" }).click();
  await page.getByRole("heading", { name: "Beitrag bearbeiten" }).waitFor();
});

browserTest("times are relative for a week, then days, and exact on hover", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "Then" });
  const page = await open({ device: "desktop" });
  const time = posts(page).locator("time");
  const hour = 3600_000;
  const shown = /** @type {[number, RegExp][]} */ ([
    [2 * hour, /^2 h ago$/],
    [30 * hour, /^yesterday$/],
    [73 * hour, /^3 days ago$/],
    [400 * hour, /^[A-Z][a-z]{2} \d{1,2}, 20\d\d$/],
  ]);
  for (const [later, text] of shown) {
    await page.clock.setFixedTime(Date.now() + later);
    await page.goto("/");
    await eventually(`${text}`, async () => text.test(await time.innerText()));
  }
  assert.equal(await time.getAttribute("title"), null);
  await time.hover();
  assert.match((await time.getAttribute("title")) ?? "", /day, .* 20\d\d at \d/);
});

browserTest("an unsupported language falls back to English", async ({ open }) => {
  const page = await open({ locale: "fi-FI" });
  await page.goto("/");
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
});

browserTest("a message has its own text direction, independent of the page", async ({ open, join }) => {
  const ada = await join("ada");
  const [arabic, english] = ["مساء الخير من الشاطئ!", "Good evening from the beach!"];
  await ada.post(await photo(0), { message: arabic });
  await ada.post(await photo(1), { message: english });
  const page = await open();
  await page.goto("/");
  const direction = (/** @type {string} */ text) => message(page, text).evaluate((element) => getComputedStyle(element).direction);
  assert.equal(await direction(arabic), "rtl");
  assert.equal(await direction(english), "ltr");
  assert.equal(await posts(page).first().evaluate((element) => getComputedStyle(element).direction), "ltr");
  await screenshot(page, "right-to-left");
});

browserTest("a refusal says why, in the language of the reader", async ({ open, join }) => {
  const ada = await join("ada");
  // Its header says 9000 × 9000 pixels.
  const huge = Buffer.from(await photo(0));
  const frame = huge.indexOf(Buffer.from([0xff, 0xc0]));
  for (const at of [5, 7]) huge.writeUInt16BE(9000, frame + at);
  const broken = (await photo(1)).subarray(0, 400);
  for (const [locale, post, sentences] of /** @type {const} */ ([
    ["en-GB", "Post", ["This photo is damaged. Open it, save it again and send the copy.", "This photo is too large: up to 64 megapixels are possible. Send a smaller version."]],
    ["de-DE", "Zeigen", ["Dieses Foto ist beschädigt. Öffne es, speichere es neu und sende die Kopie.", "Dieses Foto ist zu groß: Bis zu 64 Megapixel sind möglich. Sende eine kleinere Fassung."]],
  ])) {
    const page = await open({ locale, as: ada, serviceWorker: false });
    expectError(page, /status of 400/);
    await page.goto("/new");
    for (const [index, buffer] of [broken, huge].entries()) {
      await page.locator("#photo-input").setInputFiles({ name: "photo.jpg", mimeType: "image/jpeg", buffer });
      await page.getByRole("button", { name: post, exact: true }).click();
      await page.getByText(sentences[index], { exact: true }).waitFor();
      await screenshot(page, `refused-${index}-${locale}`);
      await page.getByRole("button", { name: locale === "de-DE" ? "Entfernen" : "Remove" }).click();
    }
    await page.goto("/settings");
    await page.getByLabel(locale === "de-DE" ? "Anzeigename" : "Display name").fill("   ");
    await page.locator("#profile-form button").click();
    await page.getByText(locale === "de-DE" ? "Gib mindestens ein sichtbares Zeichen ein." : "Enter at least one visible character.", { exact: true }).waitFor();
  }
});
