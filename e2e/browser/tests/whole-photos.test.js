// Whole photos: the post page, the square that is published, originals.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { chooseFromMenu, composer, dialog, menuButton, post, waitForSavedDraft } from "../lib/locators.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

const PANORAMA = { size: [1600, 400] };

for (const device of /** @type {const} */ (["phone", "desktop"])) {
  browserTest(`the post page shows the whole photo within the window, on a ${device}`, async ({ open, join }) => {
    const ada = await join("ada");
    for (const [size, name] of /** @type {const} */ ([[[1600, 400], "panorama"], [[700, 1400], "tall"]])) {
      const { id } = await ada.post(await photo(1, { size: [...size] }), { message: name });
      const page = await open({ device });
      await page.goto(`/p/${id}`);
      const picture = post(page, name).locator(".picture");
      const shown = await picture.evaluate(async (image) => {
        const element = /** @type {HTMLImageElement} */ (image);
        await element.decode();
        const { height, bottom } = element.getBoundingClientRect();
        return { ratio: element.naturalWidth / element.naturalHeight, height, bottom, window: innerHeight };
      });
      assert.ok(Math.abs(shown.ratio - size[0] / size[1]) < 0.05, `${name}: ${shown.ratio}`);
      assert.ok(shown.height > 50 && shown.bottom <= shown.window, JSON.stringify(shown));
      await screenshot(page, `post-${name}-${device}`);
    }
  });
}

browserTest("the square is moved in the composer, by its slider and by dragging", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages, post: send } = composer(page);
  await files.setInputFiles([await file(0, PANORAMA), await file(2)]);
  await eventually("two drafts are listed", async () => (await messages.count()) === 2);
  const slider = page.getByLabel("Square in feeds");
  await eventually("only the panorama has a slider", async () => (await slider.filter({ visible: true }).count()) === 1);
  await messages.first().fill("panorama");
  await slider.first().fill("1000");
  const position = () => page.locator(".draft-preview img").first().evaluate((image) => getComputedStyle(image).objectPosition);
  assert.equal(await position(), "100% 50%");
  const box = await page.locator(".draft-preview").first().boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 20, box.y + 60);
  await page.mouse.down();
  // Three times the side of the square is hidden: this moves by a quarter of it.
  await page.mouse.move(box.x + 20 + box.width * 0.75, box.y + 60, { steps: 4 });
  await page.mouse.up();
  assert.ok(Math.abs(Number(await slider.first().inputValue()) - 750) <= 10, await slider.first().inputValue());
  await screenshot(page, "composer-square");
  // The draft is kept with its square, which begins at three quarters of the rest.
  await waitForSavedDraft(page, ({ focus }) => Math.abs(parseFloat(focus ?? "") - (0.75 * 3 + 0.5) / 4) < 0.01);
  await page.reload();
  await eventually("the square is where it was", async () => Math.abs(parseFloat(await position()) - 75) <= 1);
  await send.click();
  await eventually("both are posted", async () => (await feed(service.base)).length === 2, 30_000);
  const [panorama] = (await feed(service.base)).filter(({ message }) => message === "panorama");
  const { focus } = /** @type {{ focus: { x: number, y: number } }} */ (/** @type {unknown} */ (panorama.photo));
  // The centre of a square that begins at three quarters of the rest.
  assert.ok(Math.abs(focus.x - (0.75 * 3 + 0.5) / 4) < 0.01 && focus.y === 0.5, JSON.stringify(focus));
});

browserTest("the square of a post is moved in its edit dialog", async ({ open, join }) => {
  const ada = await join("ada");
  const before = await ada.post(await photo(0, PANORAMA), { message: "panorama" });
  const page = await open({ as: ada });
  await page.goto("/");
  const picture = post(page, "panorama").locator(".picture");
  await chooseFromMenu(post(page, "panorama"), "Edit");
  await dialog(page).getByLabel("Square in feeds").fill("0");
  await screenshot(page, "edit-square");
  // A click beside the dialog keeps what was changed.
  await page.mouse.click(5, 5);
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).waitFor({ state: "hidden" });
  const after = await ada.getPost(before.id);
  assert.notEqual(after.photo.id, before.photo.id);
  await eventually("the new square is shown", () => picture.evaluate((image, id) => /** @type {HTMLImageElement} */ (image).currentSrc.includes(id), after.photo.id));
  await chooseFromMenu(post(page, "panorama"), "Edit");
  assert.equal(await dialog(page).getByLabel("Square in feeds").inputValue(), "0");
  await page.mouse.click(5, 5);
  await dialog(page).waitFor({ state: "hidden" });
});

browserTest("the original can be downloaded by its author, and by all if it is shared", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "a walk" });
  const [author, guest] = [await open({ as: ada }), await open({})];
  const item = (/** @type {import("playwright-core").Page} */ page) => dialog(page).getByRole("button", { name: "Download the original" });
  for (const page of [author, guest]) await page.goto("/");
  await menuButton(post(guest, "a walk")).click();
  await dialog(guest).waitFor();
  assert.equal(await item(guest).count(), 0, "not shared yet");

  await chooseFromMenu(post(author, "a walk"), "Edit");
  await dialog(author).getByLabel("Everyone may download the original").check();
  await dialog(author).getByRole("button", { name: "Save" }).click();
  await dialog(author).waitFor({ state: "hidden" });
  await guest.reload();
  for (const page of [author, guest]) {
    await menuButton(post(page, "a walk")).click();
    const download = page.waitForEvent("download");
    await item(page).click();
    assert.match((await download).suggestedFilename(), /\.jpg$/);
  }
});

browserTest("a mouse click opens a post at once, and each menu has a name of its own", async ({ open, join }) => {
  const ada = await join("ada");
  for (const number of [0, 1]) await ada.post(await photo(number), { message: `photo ${number}` });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  const names = await page.getByRole("button", { name: "More" }).evaluateAll((buttons) => buttons.map((button) => button.getAttribute("aria-labelledby")));
  assert.equal(new Set(names).size, 2);
  await page.getByRole("button", { name: /^More ada / }).first().waitFor();
  // The double-tap interval must not begin.
  const prevented = await post(page, "photo 1").locator("a.photo").evaluate((link) => {
    const click = new PointerEvent("click", { bubbles: true, cancelable: true, detail: 1, pointerType: "mouse" });
    document.addEventListener("click", (event) => { Object.assign(window, { prevented: event.defaultPrevented }); event.preventDefault(); }, { once: true });
    link.dispatchEvent(click);
    return Object(window).prevented;
  });
  assert.equal(prevented, false);
});
