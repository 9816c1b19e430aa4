// Liking: by button, by double tap, by key; shown at once, and taken back when the service refuses.

import assert from "node:assert/strict";

import { at, enter, likeButton, liked, post, toast } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { photo } from "../lib/photos.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

/** Ada's photo, and Bob who is about to like it. @param {(username: string) => Promise<import("../lib/api.js").Person>} join */
async function prepared(join) {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "like me" });
  const count = async () => (await ada.look(id)).like_count;
  return { bob, count };
}

story("the button likes and takes back, and both stay", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob });
  await page.goto("/");
  const it = post(page, "like me");
  assert.equal(await liked(it), false);
  for (const wanted of [true, false]) {
    await likeButton(it).click();
    await eventually("it is shown", async () => (await liked(it)) === wanted);
    await eventually("it is kept", async () => (await count()) === Number(wanted));
    await page.reload();
    await eventually("it is still so", async () => (await liked(it)) === wanted);
  }
});

story("a double tap on the picture likes, and never takes back", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob });
  await page.goto("/");
  const picture = post(page, "like me").locator(".photo");
  for (let time = 0; time < 2; time++) {
    const box = await eventually("the picture has a place", () => picture.boundingBox());
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    // Not one after the other: between two answers of a busy browser a moment may pass.
    await Promise.all([page.touchscreen.tap(x, y), page.touchscreen.tap(x, y)]);
    await eventually("it is liked", async () => (await liked(post(page, "like me"))) && (await count()) === 1);
  }
  assert.equal(new URL(page.url()).pathname, "/", "nobody was led away by tapping");
});

story("the key l likes the photo that has the focus", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  await post(page, "like me").getByRole("link").first().focus();
  await page.keyboard.press("l");
  await eventually("it is liked", async () => (await liked(post(page, "like me"))) && (await count()) === 1);
});

story("a like is shown at once, and taken back in words when the service refuses", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob, worker: false });
  announce(page, /status of 500/);
  /** @type {() => void} */
  let refuse = () => undefined;
  const seen = new Promise((resolve) => (refuse = () => resolve(undefined)));
  await page.route("**/posts/*/likes", async (route) => {
    await seen;
    await route.fulfill({ status: 500, contentType: "application/json", body: '{"error":{"message":"Something went wrong."}}' });
  });
  await page.goto("/");
  const it = post(page, "like me");
  await likeButton(it).click();
  // The answer is being held back: what is shown now did not wait for it.
  await eventually("it is shown before the answer", () => liked(it));
  refuse();
  await eventually("it is taken back", async () => !(await liked(it)));
  await toast(page).filter({ hasText: "Your like was not saved." }).waitFor();
  assert.match(await likeButton(it).innerText(), /\b0\b/);
  assert.equal(await count(), 0);
});

story("a double click likes on the page of a photo, a single one opens it from the feed", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  await post(page, "like me").locator(".photo").click();
  await page.waitForURL("**/p/*");
  assert.equal(await count(), 0);
  await post(page, "like me").locator(".photo").dblclick();
  await eventually("it is liked", async () => (await liked(post(page, "like me"))) && (await count()) === 1);
});

story("a hasty finger gets what it asked for last", async ({ open, join }) => {
  const { bob, count } = await prepared(join);
  const page = await open({ as: bob, worker: false });
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/likes") && sent.push(request.method()));
  await page.goto("/");
  const it = post(page, "like me");
  await likeButton(it).evaluate((button) => {
    for (let time = 0; time < 5; time++) /** @type {HTMLElement} */ (button).click();
  });
  assert.equal(await liked(it), true);
  await eventually("it is kept", async () => (await count()) === 1);
  assert.equal(await liked(it), true);
  assert.match(await likeButton(it).innerText(), /\b1\b/);
  assert.deepEqual(sent, ["POST"], "what cancels itself out is not sent");
});

story("who has no account is asked to log in, and is back at the photo then", async ({ open, join }) => {
  const { bob } = await prepared(join);
  const page = await open();
  await page.goto("/");
  await likeButton(post(page, "like me")).click();
  await at(page, "/login");
  await enter(page, "Log in", bob.username);
  await page.waitForURL("**/p/*");
  await likeButton(post(page, "like me")).click();
  await eventually("it is liked", () => liked(post(page, "like me")));
});

story("a double tap without an account leads to the way in as well", async ({ open, join }) => {
  await prepared(join);
  const page = await open({ device: "desktop" });
  await page.goto("/");
  await post(page, "like me").locator(".photo").dblclick();
  await at(page, "/login");
});
