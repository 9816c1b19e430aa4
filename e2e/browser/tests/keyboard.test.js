// Keyboard operation: focus order, visible focus, shortcuts; and reduced motion.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { chooseFromMenu, composer, dialog, isLiked, likeButton, menuButton, post, posts, waitForPath } from "../lib/locators.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

/** @typedef {import("playwright-core").Page} Page */

/** The class of the focused element or of its closest ancestor with one. @param {Page} page */
const focused = (page) => page.evaluate(() => {
  const it = /** @type {HTMLElement} */ (document.activeElement);
  return it.className.split(" ")[0] || it.closest("[class]")?.className.split(" ")[0] || it.id || it.localName;
});

/** Presses Tab and returns the focused elements. @param {Page} page @param {number} count */
async function tabStops(page, count) {
  const elements = [];
  for (let stop = 0; stop < count; stop++) {
    await page.keyboard.press("Tab");
    elements.push(await focused(page));
  }
  return elements;
}

browserTest("the skip link moves the focus to the content", async ({ service, open }) => {
  const { ada } = await seed(service, 3);
  const page = await open({ device: "desktop", as: ada });
  await page.goto("/");
  assert.deepEqual(await tabStops(page, 1), ["skip-link"]);
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await eventually("the skip link is visible", async () => ((await skip.boundingBox())?.y ?? -1) >= 0);
  await screenshot(page, "skip-link");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  assert.deepEqual(await tabStops(page, 10), ["views", "views", "views", "author", "timestamp", "photo", "like", "likers", "more", "author"], "expected the parts of a post in reading order");
});

browserTest("the tab order is the visual order", async ({ service, open }) => {
  const { ada } = await seed(service, 2);
  const page = await open({ device: "desktop", as: ada });
  await page.goto("/");
  assert.deepEqual(await tabStops(page, 12), ["skip-link", "brand", "nav-new", "nav-profile", "views", "views", "views", "author", "timestamp", "photo", "like", "likers"]);
});

browserTest("every focused element has a visible focus indicator", async ({ service, open }) => {
  const { ada } = await seed(service, 2);
  const page = await open({ device: "desktop", as: ada, reducedMotion: true });
  for (const [path, count] of /** @type {const} */ ([["/", 14], ["/@ada", 7], ["/new", 5], ["/login", 6]])) {
    if (path === "/login") await page.context().clearCookies();
    await page.goto(path);
    await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode().catch(() => undefined))));
    let seen = 0;
    while (seen < count) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement === document.body)) break;
      seen += 1;
      const where = await focused(page);
      const shown = await page.evaluate(() => {
        const it = /** @type {HTMLElement} */ (document.activeElement);
        // The focus of a hidden file input is shown on its label.
        const visible = it.closest(".file-button") ?? it;
        visible.scrollIntoView({ block: "center", behavior: "instant" });
        const { x, y, width, height } = visible.getBoundingClientRect();
        return { x: Math.max(0, x - 8), y: Math.max(0, y - 8), width: width + 16, height: height + 16 };
      });
      const clip = { clip: shown, animations: /** @type {const} */ ("disabled"), caret: /** @type {const} */ ("hide") };
      const withFocus = await page.screenshot(clip);
      await page.evaluate(() => {
        const it = /** @type {HTMLElement} */ (document.activeElement);
        it.blur();
        Object.assign(window, { last: it });
      });
      const without = await page.screenshot(clip);
      assert.notDeepEqual(withFocus, without, `${path}: ${where} looks the same with and without the focus`);
      await page.evaluate(() => /** @type {any} */ (window).last.focus({ preventScroll: true }));
    }
    assert.equal(seen, count, `${path} has that many stops`);
    await screenshot(page, `focus-${path.replace(/\W/g, "") || "feed"}`);
  }
});

browserTest("dialogs trap the focus, close with Escape, and restore the focus", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  const it = post(page, "mine");
  const inside = () => dialog(page).evaluate((element) => element.contains(document.activeElement));
  const back = () => menuButton(it).evaluate((button) => button === document.activeElement);

  await menuButton(it).focus();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor();
  assert.ok(await inside(), "expected the focus in the menu");
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "hidden" });
  await eventually("the focus is restored after the menu", back);

  for (const what of /** @type {const} */ (["Edit", "Delete"])) {
    await chooseFromMenu(it, what);
    await dialog(page).getByRole("button", { name: "Cancel" }).waitFor();
    assert.ok(await inside(), `expected the focus in ${what}`);
    for (let stop = 0; stop < 6; stop++) {
      await page.keyboard.press("Tab");
      // Between the last and the first element the browser's toolbar has the focus, reported as the body.
      assert.ok((await inside()) || (await page.evaluate(() => document.activeElement === document.body)), `expected ${what} to trap the focus`);
    }
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "hidden" });
    await eventually(`the focus is restored after ${what}`, back);
  }
});

browserTest("deleting a post moves the focus to the next one", async ({ open, join }) => {
  const ada = await join("ada");
  for (const message of ["third", "second", "first"]) await ada.post(await photo(0, { size: [160, 160] }), { message });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  await chooseFromMenu(post(page, "first"), "Delete");
  await page.keyboard.press("Tab");
  await dialog(page).getByRole("button", { name: "Delete" }).press("Enter");
  await post(page, "first").waitFor({ state: "detached" });
  await eventually("the next post has the focus", () => post(page, "second").evaluate((element) => element === document.activeElement));
});

browserTest("j and k move between posts and l likes, only while a post has the focus", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  for (const message of ["third", "second", "first"]) await ada.post(await photo(0), { message });
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  const hasFocus = (/** @type {string} */ message) => post(page, message).evaluate((element) => element.contains(document.activeElement));
  const likes = async () => (await Promise.all((await posts(page).all()).map(isLiked))).filter(Boolean).length;
  // No effect without focus, outside of a post, or with a modifier.
  await page.keyboard.press("l");
  await page.getByRole("link", { name: "New photo" }).focus();
  await page.keyboard.press("l");
  await post(page, "first").getByRole("link").first().focus();
  await page.keyboard.press("Control+l");
  assert.equal(await likes(), 0);

  for (const [key, message] of [["j", "second"], ["j", "third"], ["k", "second"]]) {
    await page.keyboard.press(key);
    assert.ok(await hasFocus(message), `expected ${key} to focus ${message}`);
  }
  await screenshot(page, "focus-post");
  await page.keyboard.press("l");
  await eventually("it is liked", () => isLiked(post(page, "second")));
  assert.equal(await likes(), 1);
});

browserTest("a photo can be posted by keyboard alone", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages } = composer(page);
  /** @type {import("playwright-core").FileChooser | undefined} */
  let chooser;
  page.on("filechooser", (opened) => (chooser = opened));
  // Retried: the key may arrive before the browser intercepts file choosers.
  await eventually("the file chooser opens", async () => {
    await files.focus();
    await page.keyboard.press("Enter");
    return Boolean(chooser);
  });
  await chooser?.setFiles(await file(1));
  await messages.waitFor();
  await messages.focus();
  await page.keyboard.type("all by hand, l j k");
  for (let stop = 0; stop < 6 && !/^button/.test(await focused(page)); stop++) await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Post", exact: true }).press("Enter");
  await waitForPath(page, "/");
  await post(page, "all by hand, l j k").waitFor();
});

for (const reducedMotion of [true, false]) {
  browserTest(`a like ${reducedMotion ? "is not animated with reduced motion" : "is animated"}`, async ({ open, join }) => {
    const [ada, bob] = [await join("ada"), await join("bob")];
    const { id } = await ada.post(await photo(0), { message: "like me" });
    const page = await open({ as: bob, device: "desktop", reducedMotion });
    await page.goto(`/p/${id}`);
    await page.evaluate(() => {
      /** @type {number[]} */
      const durations = [];
      Object.assign(window, { durations });
      const record = () => durations.push(...document.getAnimations().map((animation) => Number(animation.effect?.getComputedTiming().duration)));
      for (const type of ["animationstart", "transitionrun"]) document.addEventListener(type, record, true);
    });
    await likeButton(post(page, "like me")).click();
    await eventually("it is liked", () => isLiked(post(page, "like me")));
    await menuButton(post(page, "like me")).click();
    await dialog(page).waitFor();
    const longest = async () => Math.max(0, .../** @type {number[]} */ (await page.evaluate("window.durations")));
    if (reducedMotion) assert.ok((await longest()) < 1, `the longest animation took ${await longest()} ms`);
    // A busy browser starts it late.
    else await eventually("an animation has taken its time", async () => (await longest()) > 100);
  });
}
