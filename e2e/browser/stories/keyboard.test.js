// Everything by keyboard: where the focus goes, that it is seen, and that nothing moves for those who asked for calm.

import assert from "node:assert/strict";

import { at, choose, composer, dialog, likeButton, liked, more, post, posts } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { file, photo } from "../lib/photos.js";
import { scene } from "../lib/scene.js";
import { story } from "../lib/story.js";

/** @typedef {import("playwright-core").Page} Page */

/** What has the focus, in a word. @param {Page} page */
const focused = (page) => page.evaluate(() => {
  const it = /** @type {HTMLElement} */ (document.activeElement);
  return it.className.split(" ")[0] || it.closest("[class]")?.className.split(" ")[0] || it.id || it.localName;
});

/** The next few stops of the Tab key. @param {Page} page @param {number} count */
async function stops(page, count) {
  const found = [];
  for (let stop = 0; stop < count; stop++) {
    await page.keyboard.press("Tab");
    found.push(await focused(page));
  }
  return found;
}

story("the first stop leads past everything to the photos", async ({ service, open }) => {
  const { ada } = await scene(service.base, 3);
  const page = await open({ device: "desktop", as: ada });
  await page.goto("/");
  assert.deepEqual(await stops(page, 1), ["skip"]);
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await eventually("it is seen now", async () => ((await skip.boundingBox())?.y ?? -1) >= 0);
  await look(page, "skip-link");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  assert.deepEqual(await stops(page, 6), ["by", "when", "photo", "like", "more", "by"], "then a post, in the order it is read");
});

story("the tab order is the order on the screen", async ({ service, open }) => {
  const { ada } = await scene(service.base, 2);
  const page = await open({ device: "desktop", as: ada });
  await page.goto("/");
  assert.deepEqual(await stops(page, 9), ["skip", "brand", "nav-new", "nav-me", "by", "when", "photo", "like", "more"]);
});

story("whatever has the focus shows it", async ({ service, open }) => {
  const { ada } = await scene(service.base, 2);
  const page = await open({ device: "desktop", as: ada, still: true });
  for (const [path, count] of /** @type {const} */ ([["/", 9], ["/@ada", 7], ["/new", 5], ["/login", 6]])) {
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
        // A file chooser shows it on what stands for it.
        const place = it.closest(".file") ?? it;
        place.scrollIntoView({ block: "center", behavior: "instant" });
        const { x, y, width, height } = place.getBoundingClientRect();
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
    await look(page, `focus-${path.replace(/\W/g, "") || "feed"}`);
  }
});

story("dialogs open, hold the focus, close with Escape, and give it back", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  const it = post(page, "mine");
  const inside = () => dialog(page).evaluate((element) => element.contains(document.activeElement));
  const back = () => more(it).evaluate((button) => button === document.activeElement);

  await more(it).focus();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor();
  assert.ok(await inside(), "the menu has the focus");
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "hidden" });
  await eventually("the focus is back from the menu", back);

  for (const what of /** @type {const} */ (["Edit", "Delete"])) {
    await choose(it, what);
    await dialog(page).getByRole("button", { name: "Cancel" }).waitFor();
    assert.ok(await inside(), `${what} has the focus`);
    for (let stop = 0; stop < 6; stop++) {
      await page.keyboard.press("Tab");
      // Between the last and the first stop is the browser's own bar, and then the body has the focus.
      assert.ok((await inside()) || (await page.evaluate(() => document.activeElement === document.body)), `${what} lets the focus out`);
    }
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "hidden" });
    await eventually(`the focus is back from ${what}`, back);
  }
});

story("after a photo is deleted the focus is at the next one", async ({ open, join }) => {
  const ada = await join("ada");
  for (const message of ["third", "second", "first"]) await ada.post(await photo(0, { size: [160, 160] }), { message });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  await choose(post(page, "first"), "Delete");
  await page.keyboard.press("Tab");
  await dialog(page).getByRole("button", { name: "Delete" }).press("Enter");
  await post(page, "first").waitFor({ state: "detached" });
  await eventually("the focus moved on", () => post(page, "second").evaluate((element) => element === document.activeElement));
});

story("j and k walk through the photos, l likes; nowhere else do letters act", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  for (const message of ["third", "second", "first"]) await ada.post(await photo(0), { message });
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  const has = (/** @type {string} */ message) => post(page, message).evaluate((element) => element.contains(document.activeElement));
  const likes = async () => (await Promise.all((await posts(page).all()).map(liked))).filter(Boolean).length;
  // From nowhere, and from outside of a post: nothing.
  await page.keyboard.press("l");
  await page.getByRole("link", { name: "New photo" }).focus();
  await page.keyboard.press("l");
  await post(page, "first").getByRole("link").first().focus();
  await page.keyboard.press("Control+l");
  assert.equal(await likes(), 0);

  for (const [key, message] of [["j", "second"], ["j", "third"], ["k", "second"]]) {
    await page.keyboard.press(key);
    assert.ok(await has(message), `${key} leads to ${message}`);
  }
  await look(page, "focus-post");
  await page.keyboard.press("l");
  await eventually("it is liked", () => liked(post(page, "second")));
  assert.equal(await likes(), 1);
});

story("a photo is posted without a mouse", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages } = composer(page);
  /** @type {import("playwright-core").FileChooser | undefined} */
  let chooser;
  page.on("filechooser", (opened) => (chooser = opened));
  // Whether the browser is told to announce it before or after the key arrives is not in our hands.
  await eventually("the browser asks for a file", async () => {
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
  await at(page, "/");
  await post(page, "all by hand, l j k").waitFor();
});

for (const still of [true, false]) {
  story(`a like ${still ? "holds still for those who asked for it" : "has a heart that bursts"}`, async ({ open, join }) => {
    const [ada, bob] = [await join("ada"), await join("bob")];
    await ada.post(await photo(0), { message: "like me" });
    const page = await open({ as: bob, device: "desktop", still });
    await page.goto("/");
    await page.evaluate(() => {
      /** @type {number[]} */
      const lengths = [];
      Object.assign(window, { lengths });
      const note = () => lengths.push(...document.getAnimations().map((animation) => Number(animation.effect?.getComputedTiming().duration)));
      for (const type of ["animationstart", "transitionrun"]) document.addEventListener(type, note, true);
    });
    await post(page, "like me").locator(".photo").dblclick();
    await eventually("it is liked", () => liked(post(page, "like me")));
    await likeButton(post(page, "like me")).hover();
    await more(post(page, "like me")).click();
    await dialog(page).waitFor();
    const longest = Math.max(0, .../** @type {number[]} */ (await page.evaluate("window.lengths")));
    assert.ok(still ? longest < 1 : longest > 100, `${longest} ms`);
  });
}
