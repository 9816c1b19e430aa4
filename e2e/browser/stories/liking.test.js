// Liking: by button, by double tap, by key; shown at once, and taken back when the service refuses.

import assert from "node:assert/strict";

import { likeButton, liked, post, toast } from "../lib/client.js";
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
  const picture = post(page, "like me").getByRole("img").last();
  for (let time = 0; time < 2; time++) {
    const box = await eventually("the picture has a place", () => picture.boundingBox());
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.touchscreen.tap(x, y);
    await page.touchscreen.tap(x, y);
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
  await toast(page).first().waitFor();
  assert.equal(await count(), 0);
});

story("who has no account is asked to log in", async ({ open, join }) => {
  await prepared(join);
  const page = await open();
  await page.goto("/");
  const it = post(page, "like me");
  await likeButton(it).or(it.getByRole("link", { name: /like/i })).first().click();
  await page.waitForURL("**/login*");
});
