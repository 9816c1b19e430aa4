// Two people at once, each in a browser of their own.

import assert from "node:assert/strict";

import { at, composer, enter, likeButton, liked, post, toast } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { file, photo } from "../lib/photos.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

story("what one posts the other sees and likes, and the first sees that", async ({ open, join }) => {
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
  await eventually("it is liked", () => liked(post(his, "for bob")));
  await eventually("she sees it", async () => {
    await hers.goto("/");
    return /\b1\b/.test(await likeButton(post(hers, "for bob")).innerText());
  });
  assert.equal(await liked(post(hers, "for bob")), false, "his like is not hers");
});

story("liking what has just been deleted is said in words", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "soon gone" });
  const page = await open({ as: bob });
  announce(page, /status of 404/);
  await page.goto("/");
  await post(page, "soon gone").waitFor();
  await ada.delete(id);
  await likeButton(post(page, "soon gone")).click();
  await toast(page).filter({ hasText: "This post has been deleted." }).waitFor();
  assert.equal(await liked(post(page, "soon gone")), false);
});

story("logging out in one tab is noticed in the other", async ({ open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada });
  announce(page, /status of 401/);
  await page.goto("/");
  await post(page, "mine").waitFor();
  await ada.call("POST", "/logout", 200);
  await likeButton(post(page, "mine")).click();
  await at(page, "/login");
  await toast(page).filter({ hasText: "You have been logged out." }).waitFor();
  await enter(page, "Log in", "ada");
  await at(page, "/");
  assert.equal((await (await fetch(`${ada.base}/posts/${id}`)).json()).like_count, 0);
});
