// Likes: by button, double tap and key; optimistic update and rollback.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { dialog, isLiked, likeButton, likers, post, submitCredentials, toast, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";

/**
 * A post by Ada, a user Bob who likes it, and the post's like count on the server.
 * @param {(username: string) => Promise<import("../lib/api.js").ApiUser>} join
 */
async function postToLike(join) {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "like me" });
  const count = async () => (await ada.getPost(id)).like_count;
  return { bob, count };
}

browserTest("the button likes and unlikes, and both persist", async ({ open, join }) => {
  const { bob, count } = await postToLike(join);
  const page = await open({ as: bob });
  await page.goto("/");
  const it = post(page, "like me");
  assert.equal(await isLiked(it), false);
  for (const wanted of [true, false]) {
    await likeButton(it).click();
    await eventually("the button shows it", async () => (await isLiked(it)) === wanted);
    await eventually("the server has it", async () => (await count()) === Number(wanted));
    await page.reload();
    await eventually("it persists after a reload", async () => (await isLiked(it)) === wanted);
  }
});

browserTest("a double tap on the photo likes, and never unlikes", async ({ open, join }) => {
  const { bob, count } = await postToLike(join);
  const page = await open({ as: bob });
  await page.goto("/");
  const photoLink = post(page, "like me").locator(".photo");
  for (let repetition = 0; repetition < 2; repetition++) {
    const box = await eventually("the photo has a bounding box", () => photoLink.boundingBox());
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    // In parallel: awaiting the first tap on a busy machine could exceed the double-tap interval.
    await Promise.all([page.touchscreen.tap(x, y), page.touchscreen.tap(x, y)]);
    await eventually("it is liked", async () => (await isLiked(post(page, "like me"))) && (await count()) === 1);
  }
  assert.equal(new URL(page.url()).pathname, "/", "expected no navigation");
});

browserTest("the key l likes the focused post", async ({ open, join }) => {
  const { bob, count } = await postToLike(join);
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  await post(page, "like me").getByRole("link").first().focus();
  await page.keyboard.press("l");
  await eventually("it is liked", async () => (await isLiked(post(page, "like me"))) && (await count()) === 1);
});

browserTest("a like is shown optimistically and rolled back with a toast when the server rejects it", async ({ open, join }) => {
  const { bob, count } = await postToLike(join);
  const page = await open({ as: bob, serviceWorker: false });
  expectError(page, /status of 500/);
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
  // The route holds the response back until `refuse`.
  await eventually("it is shown before the response", () => isLiked(it));
  refuse();
  await eventually("it is rolled back", async () => !(await isLiked(it)));
  await toast(page).filter({ hasText: "Your like was not saved." }).waitFor();
  assert.match(await likers(it).innerText(), /\b0\b/);
  assert.equal(await count(), 0);
});

browserTest("the number of likes opens the list of who likes a post", async ({ open, join }) => {
  const { bob } = await postToLike(join);
  const page = await open({ as: bob, device: "desktop" });
  await page.goto("/");
  const it = post(page, "like me");
  await likers(it).click();
  await dialog(page).getByText("No likes yet.").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await likeButton(it).click();
  await eventually("it is liked", async () => /\b1\b/.test(await likers(it).innerText()));
  await eventually("the server has it", async () => {
    await likers(it).click();
    const names = await dialog(page).getByRole("listitem").allInnerTexts();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    return names.join().includes(bob.username);
  });
});

browserTest("after several quick clicks the last state wins", async ({ open, join }) => {
  const { bob, count } = await postToLike(join);
  const page = await open({ as: bob, serviceWorker: false });
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/likes") && sent.push(request.method()));
  await page.goto("/");
  const it = post(page, "like me");
  await likeButton(it).evaluate((button) => {
    for (let click = 0; click < 5; click++) /** @type {HTMLElement} */ (button).click();
  });
  assert.equal(await isLiked(it), true);
  await eventually("the server has it", async () => (await count()) === 1);
  assert.equal(await isLiked(it), true);
  assert.match(await likers(it).innerText(), /\b1\b/);
  assert.deepEqual(sent, ["POST"], "expected one request: clicks that cancel each other out are not sent");
});

browserTest("a guest's like redirects to login, and login back to the post", async ({ open, join }) => {
  const { bob } = await postToLike(join);
  const page = await open();
  await page.goto("/");
  await likeButton(post(page, "like me")).click();
  await waitForPath(page, "/login");
  await submitCredentials(page, "Log in", bob.username);
  await page.waitForURL("**/p/*");
  await likeButton(post(page, "like me")).click();
  await eventually("it is liked", () => isLiked(post(page, "like me")));
});

browserTest("a guest's double tap redirects to login", async ({ open, join }) => {
  await postToLike(join);
  const page = await open();
  await page.goto("/");
  await post(page, "like me").locator(".photo").scrollIntoViewIfNeeded();
  const box = await eventually("the photo has a bounding box", () => post(page, "like me").locator(".photo").boundingBox());
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await Promise.all([page.touchscreen.tap(x, y), page.touchscreen.tap(x, y)]);
  await waitForPath(page, "/login");
});
