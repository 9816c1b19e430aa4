// Two users at once, each in a browser context of their own.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, isLiked, likeButton, likers, post, submitCredentials, toast, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { file, photo } from "../lib/photos.js";

browserTest("a post and its like are visible to the other user", async ({ open, join }) => {
  const hers = await open({ as: await join("ada") });
  const his = await open({ as: await join("bob"), device: "desktop" });
  await hers.goto("/new");
  const { files, messages, post: send } = composer(hers);
  await files.setInputFiles(await file(0));
  await messages.fill("for bob");
  await send.click();
  await post(hers, "for bob").waitFor();

  await his.goto("/");
  await likeButton(post(his, "for bob")).click();
  await eventually("the post is liked", () => isLiked(post(his, "for bob")));
  await eventually("the author sees the like", async () => {
    await hers.goto("/");
    return /\b1\b/.test(await likers(post(hers, "for bob")).innerText());
  });
  assert.equal(await isLiked(post(hers, "for bob")), false, "expected the like to be only his");
});

browserTest("liking a deleted post shows a toast", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "soon gone" });
  const page = await open({ as: bob });
  expectError(page, /status of 404/);
  await page.goto("/");
  await post(page, "soon gone").waitFor();
  await ada.delete(id);
  await likeButton(post(page, "soon gone")).click();
  await toast(page).filter({ hasText: "It may have been deleted." }).waitFor();
  assert.equal(await isLiked(post(page, "soon gone")), false);
});

browserTest("a like after logout in another tab redirects to login", async ({ open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada });
  expectError(page, /status of 401/);
  await page.goto("/");
  await post(page, "mine").waitFor();
  await ada.call("POST", "/logout", 200);
  await likeButton(post(page, "mine")).click();
  await waitForPath(page, "/login");
  await toast(page).filter({ hasText: "You have been logged out." }).waitFor();
  await submitCredentials(page, "Log in", "ada");
  await waitForPath(page, "/");
  assert.equal((await (await fetch(`${ada.base}/posts/${id}`)).json()).like_count, 0);
});
