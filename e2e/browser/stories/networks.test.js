// Slow networks and dead ones: words first, nothing lost, nothing pretended.

import assert from "node:assert/strict";

import { slow } from "../lib/browser.js";
import { likeButton, liked, post, posts, toast } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { photo } from "../lib/photos.js";
import { scene } from "../lib/scene.js";
import { story } from "../lib/story.js";
import { tolerate } from "../lib/watch.js";

const DEAD = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_FAILED|Failed to fetch|status of 50\d/;

story("on a slow network one can read before the pictures are there", async ({ service, open }) => {
  await scene(service.base);
  const page = await open({ worker: false });
  await slow(page, { down: 40_000, latency: 400 });
  await page.goto("/", { waitUntil: "commit" });
  await post(page, "First light over the harbour").first().waitFor({ timeout: 20_000 });
  const { ready, all } = await posts(page).locator("img").evaluateAll((images) => ({
    ready: images.filter((image) => /** @type {HTMLImageElement} */ (image).complete && /** @type {HTMLImageElement} */ (image).naturalWidth).length,
    all: images.length,
  }));
  assert.ok(ready < all, "words came with the last picture only");
});

story("a like that never arrives is taken back in words, and works when the service is back", async ({ service, open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const { id } = await ada.post(await photo(0), { message: "like me" });
  const page = await open({ as: bob });
  tolerate(page, DEAD);
  await page.goto("/");
  const it = post(page, "like me");
  await it.waitFor();
  await service.down();
  await likeButton(it).click();
  await toast(page).filter({ hasText: "The server cannot be reached." }).first().waitFor();
  await eventually("it is taken back", async () => !(await liked(it)));
  await look(page, "like-without-service");
  await service.up();
  await likeButton(it).click();
  await eventually("it is liked", async () => (await liked(it)) && (await ada.look(id)).like_count === 1);
});

story("older photos that do not come can be asked for again", async ({ service, open }) => {
  const { posts: all } = await scene(service.base);
  const page = await open({ worker: false });
  tolerate(page, DEAD);
  await page.goto("/");
  await posts(page).first().waitFor();
  const before = await posts(page).count();
  assert.ok(before < all.length, "there is nothing older");
  await service.down();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.getByRole("status").filter({ hasText: "Older photos could not be loaded." }).waitFor();
  await look(page, "older-failed");
  await service.up();
  await page.getByRole("button", { name: "Try again" }).click();
  await eventually("they are there", async () => (await posts(page).count()) === all.length);
});

story("while the service is away one reads what was kept, and goes on when it is back", async ({ service, open }) => {
  const { posts: all } = await scene(service.base, 3);
  const page = await open({ device: "desktop" });
  tolerate(page, DEAD);
  await page.goto("/");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await eventually("the worker looks after the page", () => page.evaluate(() => Boolean(navigator.serviceWorker.controller)));
  await page.reload();
  await posts(page).first().waitFor();
  await service.down();
  await page.reload();
  await post(page, "First light over the harbour").waitFor();
  const old = page.getByRole("status").filter({ hasText: "This is what was last seen." });
  await old.waitFor();
  await page.goto(`/p/${all[2].id}`);
  await page.getByRole("heading", { name: "You are offline" }).waitFor();
  await service.up();
  await page.goto(`/p/${all[2].id}`);
  await posts(page).first().waitFor();
  assert.equal(await old.count(), 0, "fresh again");
});
