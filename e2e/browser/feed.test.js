// What the page at `/` does today.

import assert from "node:assert/strict";

import { settle } from "./lib/look.js";
import { photo } from "./lib/photos.js";
import { scene } from "./lib/scene.js";
import { story } from "./lib/story.js";
import { announce } from "./lib/watch.js";

story("somebody reads the feed to its end", async ({ service, open }) => {
  const { posts } = await scene(service.base);
  const page = await open();
  await page.goto("/");
  const items = page.getByRole("listitem");
  await page.getByText("First light over the harbour").first().waitFor();
  assert.equal(await items.count(), 24);
  await page.getByRole("button", { name: "Older photos" }).click();
  await items.nth(posts.length - 1).waitFor();
  assert.equal(await items.count(), posts.length);
  assert.equal(await page.getByRole("button", { name: "Older photos" }).isVisible(), false);
});

story("markup in a message is shown as it was written", async ({ open, join }) => {
  const attack = "<img src=x onerror='window.hit = 1'>";
  await (await join("ada")).post(await photo(0), { message: attack });
  const page = await open();
  await page.goto("/");
  await page.getByText(attack).waitFor();
  assert.equal(await page.evaluate("window.hit"), undefined);
});

story("a service that went away is said so in words", async ({ service, open, join }) => {
  const page = await open({ device: "desktop" });
  const ada = await join("ada");
  const small = await photo(0, { size: [160, 160] });
  for (let number = 0; number < 25; number++) await ada.post(small);
  await page.goto("/");
  await page.getByRole("listitem").first().waitFor();
  await settle(page, { full: true });
  announce(page, /failed: GET .*\/feed.*ERR_CONNECTION_REFUSED/);
  announce(page, /console: Failed to load resource/);
  await service.down();
  await page.getByRole("button", { name: "Older photos" }).click();
  await page.getByText("The photos could not be loaded").waitFor();
});

story("without JavaScript the page says where the photos are", async ({ open }) => {
  const page = await open({ javaScript: false });
  await page.goto("/");
  // Texts inside `noscript` are invisible to getByText, whether they are shown or not.
  const hint = page.locator("noscript");
  await hint.waitFor();
  assert.match(await hint.innerText(), /needs JavaScript/);
});
