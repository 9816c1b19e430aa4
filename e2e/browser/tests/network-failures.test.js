// Slow networks and an unreachable service: progressive loading, rollback, retry, offline cache.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { throttle } from "../lib/browser.js";
import { eventually } from "../lib/eventually.js";
import { isLiked, likeButton, likers, post, posts, toast } from "../lib/locators.js";
import { UNREACHABLE, allowError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

browserTest("on a slow network the text is readable before the images are loaded", async ({ service, open }) => {
  await seed(service);
  const page = await open({ serviceWorker: false });
  await throttle(page, { down: 40_000, latency: 400 });
  await page.goto("/", { waitUntil: "commit" });
  await post(page, "First light over the harbour").first().waitFor({ timeout: 20_000 });
  const { loaded, all } = await posts(page).locator("img").evaluateAll((images) => ({
    loaded: images.filter((image) => /** @type {HTMLImageElement} */ (image).complete && /** @type {HTMLImageElement} */ (image).naturalWidth).length,
    all: images.length,
  }));
  assert.ok(loaded < all, "expected the text before the last image");
});

browserTest("a like is rolled back with a toast while the service is unreachable, and works afterwards", async ({ service, open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "like me" });
  const page = await open({ as: bob });
  allowError(page, UNREACHABLE);
  await page.goto("/");
  const it = post(page, "like me");
  await it.waitFor();
  await service.stop();
  await likeButton(it).click();
  await toast(page).filter({ hasText: "The server cannot be reached." }).first().waitFor();
  await eventually("it is rolled back", async () => !(await isLiked(it)));
  await screenshot(page, "like-without-service");
  await service.launch();
  await likeButton(it).click();
  await eventually("it is liked", async () => (await isLiked(it)) && (await ada.getPost(id)).like_count === 1);
});

browserTest("loading older posts can be retried after a failure", async ({ service, open }) => {
  const { posts: all } = await seed(service);
  const page = await open({ serviceWorker: false });
  allowError(page, UNREACHABLE);
  await page.goto("/");
  await posts(page).first().waitFor();
  const before = await posts(page).count();
  assert.ok(before < all.length, "expected more than one page of posts");
  await service.stop();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.getByRole("status").filter({ hasText: "Older photos could not be loaded." }).waitFor();
  await screenshot(page, "older-failed");
  await service.launch();
  await page.getByRole("button", { name: "Try again" }).click();
  await eventually("all posts are loaded", async () => (await posts(page).count()) === all.length);
});

browserTest("while the service is unreachable the offline cache is shown and marked as stale", async ({ service, open }) => {
  const { posts: all } = await seed(service, 3);
  const page = await open({ device: "desktop" });
  allowError(page, UNREACHABLE);
  await page.goto("/");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await eventually("the service worker controls the page", () => page.evaluate(() => Boolean(navigator.serviceWorker.controller)));
  await page.reload();
  await posts(page).first().waitFor();
  await service.stop();
  await page.reload();
  await post(page, "First light over the harbour").waitFor();
  const staleNotice = page.getByText("The server cannot be reached. This is what was last seen.");
  await staleNotice.waitFor();
  await screenshot(page, "feed-without-server");
  await service.launch();
  // It goes with the first answer, on the same page.
  await staleNotice.waitFor({ state: "hidden" });
  await page.goto(`/p/${all[2].id}`);
  await posts(page).first().waitFor();
  assert.equal(await staleNotice.count(), 0, "expected a fresh page");
});

browserTest("the banner tells a missing network from a missing server, and goes with the first answer", async ({ service, open }) => {
  await seed(service, 1);
  const page = await open({ serviceWorker: false });
  allowError(page, UNREACHABLE);
  await page.goto("/");
  const banner = page.locator("#network-status");
  await service.stop();
  await likers(posts(page).first()).click();
  await banner.filter({ hasText: "The server cannot be reached." }).waitFor();
  await page.context().setOffline(true);
  await banner.filter({ hasText: "You are offline." }).waitFor();
  await page.context().setOffline(false);
  await banner.filter({ hasText: "The server cannot be reached." }).waitFor();
  await service.launch();
  await banner.waitFor({ state: "hidden" });
});
