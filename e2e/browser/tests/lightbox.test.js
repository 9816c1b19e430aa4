// The lightbox: zoom, pinch, swipe, keys, and stepping through the list that it was opened from.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { WINDOWS } from "../lib/layout.js";
import { dialog, post } from "../lib/locators.js";
import { photo } from "../lib/photos.js";

/** @typedef {import("playwright-core").Page} Page */

/** Three posts of Ada, newest first. @param {(username: string) => Promise<import("../lib/api.js").ApiUser>} join */
async function threePosts(join) {
  const ada = await join("ada");
  const posts = [];
  for (const number of [0, 1, 2]) posts.unshift(await ada.post(await photo(number), { message: `photo ${number}` }));
  return posts;
}

/** @param {Page} page */
const image = (page) => dialog(page).locator("img");
/** The photo that is shown. @param {Page} page */
const shown = async (page) => /photos\/([^/]+)/.exec((await image(page).getAttribute("src")) ?? "")?.[1];
/** @param {Page} page */
const scale = (page) => image(page).evaluate((element) => new DOMMatrix(getComputedStyle(element).transform).a);

browserTest("arrow keys and buttons step through the list that a post was opened from", async ({ open, join }) => {
  const [newest, middle, oldest] = await threePosts(join);
  const page = await open({ device: "desktop" });
  await page.goto("/@ada");
  await page.locator(`[data-post="${middle.id}"]`).click();
  await page.waitForURL(`**/p/${middle.id}`);
  await post(page, "photo 1").locator(".photo").click();
  assert.equal(await shown(page), middle.photo.id);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await shown(page), newest.photo.id);
  assert.equal(await dialog(page).getByRole("button", { name: "Previous photo" }).count(), 0);
  await page.keyboard.press("ArrowRight");
  await dialog(page).getByRole("button", { name: "Next photo" }).click();
  assert.equal(await shown(page), oldest.photo.id);
  // Closing it opens the page of the post that is shown.
  await page.keyboard.press("Escape");
  await page.waitForURL(`**/p/${oldest.id}`);
});

browserTest("a post that was opened by its link has a lightbox without a list", async ({ open, join }) => {
  const [newest] = await threePosts(join);
  const page = await open({ device: "desktop" });
  await page.goto(`/p/${newest.id}`);
  await post(page, "photo 2").locator(".photo").press("Enter");
  await image(page).waitFor();
  assert.equal(await dialog(page).getByRole("button", { name: /photo$/ }).count(), 0);
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await dialog(page).waitFor({ state: "hidden" });
  assert.match(page.url(), new RegExp(`/p/${newest.id}$`));
});

browserTest("the whole photo is within the window, as large as it allows, at every size and aspect", async ({ open, join }) => {
  const ada = await join("ada");
  const page = await open({ device: "desktop" });
  for (const size of [[1000, 1000], [1600, 400], [500, 1500], [40, 30]]) {
    const { id } = await ada.post(await photo(1, { size }));
    for (const viewport of WINDOWS) {
      await page.setViewportSize(viewport);
      await page.goto(`/p/${id}`);
      await page.locator("a.photo").click();
      const { fit, ...photo } = await image(page).evaluate(async (element) => {
        const image = /** @type {HTMLImageElement} */ (element);
        await image.decode();
        const box = image.getBoundingClientRect();
        const scale = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight);
        const [width, height] = [scale * image.naturalWidth, scale * image.naturalHeight];
        return { fit: getComputedStyle(image).objectFit, width, height, left: box.left + (box.width - width) / 2, top: box.top + (box.height - height) / 2 };
      });
      const what = `${size.join(" × ")} at ${viewport.width} × ${viewport.height}: ${JSON.stringify(photo)}`;
      assert.equal(fit, "contain");
      assert.ok(Math.abs(photo.width / photo.height - size[0] / size[1]) < 0.02 * (size[0] / size[1]), what);
      // In the middle, and touching two opposite edges.
      assert.ok(Math.abs(photo.left + photo.width / 2 - viewport.width / 2) < 1 && Math.abs(photo.top + photo.height / 2 - viewport.height / 2) < 1, what);
      assert.ok(photo.left > -1 && photo.top > -1 && (photo.left < 1 || photo.top < 1), what);
    }
  }
});

browserTest("the photo is zoomed by buttons, keys, wheel and double click, and moved while it is", async ({ open, join }) => {
  const [newest] = await threePosts(join);
  const page = await open({ device: "desktop" });
  await page.goto(`/p/${newest.id}`);
  await post(page, "photo 2").locator(".photo").click();
  await dialog(page).getByRole("button", { name: "Zoom in" }).click();
  assert.equal(await scale(page), 2);
  await eventually("it has more pixels", async () => (await image(page).getAttribute("src"))?.endsWith("/fit/4096"));
  await page.mouse.move(640, 450);
  await page.mouse.down();
  await page.mouse.move(740, 500, { steps: 4 });
  await page.mouse.up();
  const moved = await image(page).evaluate((element) => new DOMMatrix(getComputedStyle(element).transform));
  assert.deepEqual([moved.e, moved.f], [100, 50]);
  await page.keyboard.press("-");
  assert.equal(await scale(page), 1);
  await page.mouse.dblclick(640, 450);
  assert.equal(await scale(page), 2.5);
  await page.mouse.wheel(0, 2000);
  await eventually("the wheel zooms out", async () => (await scale(page)) === 1);
  await page.mouse.wheel(0, -9000);
  await eventually("the zoom has a limit", async () => (await scale(page)) === 8);
});

browserTest("fingers pinch and swipe, and a swipe down closes it", async ({ open, join }) => {
  const [newest, middle] = await threePosts(join);
  const page = await open({ device: "phone" });
  await page.goto("/@ada");
  await page.locator(`[data-post="${newest.id}"]`).tap();
  await page.waitForURL(`**/p/${newest.id}`);
  await post(page, "photo 2").locator(".photo").tap();
  await image(page).waitFor();
  const session = await page.context().newCDPSession(page);
  /** @param {"touchStart" | "touchMove" | "touchEnd"} type @param {[number, number][]} points */
  const touch = (type, points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  await touch("touchStart", [[150, 400], [250, 400]]);
  await touch("touchMove", [[100, 400], [300, 400]]);
  await touch("touchEnd", []);
  await eventually("the pinch zooms", async () => (await scale(page)) > 1.8);
  await page.keyboard.press("-");
  await page.keyboard.press("-");
  assert.equal(await scale(page), 1);
  await touch("touchStart", [[300, 400]]);
  await touch("touchMove", [[120, 410]]);
  await touch("touchEnd", []);
  await eventually("the swipe shows the next photo", async () => (await shown(page)) === middle.photo.id);
  await touch("touchStart", [[200, 300]]);
  await touch("touchMove", [[205, 600]]);
  await touch("touchEnd", []);
  await page.waitForURL(`**/p/${middle.id}`);
});
