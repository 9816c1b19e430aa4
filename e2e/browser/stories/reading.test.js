// Reading what others posted: the feed, one photo, one person. Nothing of it needs an account, or JavaScript.

import assert from "node:assert/strict";

import { home, post, posts } from "../lib/client.js";
import { look } from "../lib/look.js";
import { scene } from "../lib/scene.js";
import { story } from "../lib/story.js";

for (const javaScript of [true, false]) {
  const how = javaScript ? "" : " without JavaScript";

  story(`somebody reads the feed, a photo and a person's photos${how}`, async ({ service, open }) => {
    const { posts: all } = await scene(service.base);
    const page = await open({ javaScript });
    await page.goto("/");
    const newest = post(page, "First light over the harbour").first();
    await newest.waitFor();
    assert.ok((await posts(page).count()) >= 20);
    assert.equal(await posts(page).first().innerText().then((text) => text.includes("First light")), true, "newest first");

    await newest.locator(`a[href="/p/${all[0].id}"]`).first().click();
    await page.waitForURL(`**/p/${all[0].id}`);
    await post(page, "First light over the harbour").waitFor();
    assert.match(await page.title(), /ada/);

    await page.getByRole("link", { name: "ada", exact: true }).first().click();
    await page.waitForURL("**/@ada");
    await page.getByRole("heading", { name: "ada" }).waitFor();

    await home(page).click();
    await page.waitForURL((url) => url.pathname === "/");
    if (!javaScript) await look(page, "feed-without-javascript");
  });

  story(`older photos are a link away${how}`, async ({ service, open }) => {
    const { posts: all } = await scene(service.base);
    const page = await open({ javaScript });
    await page.goto("/");
    const older = page.getByRole("link", { name: "Older photos" }).or(page.getByRole("button", { name: "Older photos" }));
    await older.click();
    await page.locator(`a[href="/p/${all.at(-1)?.id}"]`).first().waitFor();
  });
}

story("every picture has words, a size and a place before it has arrived", async ({ service, open }) => {
  await scene(service.base);
  const page = await open({ worker: false });
  // No picture ever comes: the layout must not need one.
  await page.route("**/photos/**", () => undefined);
  await page.goto("/", { waitUntil: "domcontentloaded" });
  await posts(page).first().waitFor();
  const pictures = await posts(page).locator("img").evaluateAll((images) =>
    images.map((image) => {
      const { width, height } = image.getBoundingClientRect();
      return { alt: image.getAttribute("alt"), width, height };
    }),
  );
  assert.ok(pictures.length >= 20);
  for (const picture of pictures) {
    assert.notEqual(picture.alt, null);
    assert.ok(picture.width > 0 && picture.height > 0, JSON.stringify(picture));
  }
});

story("what is not there is said so, with a way back", async ({ open }) => {
  const { announce } = await import("../lib/watch.js");
  const page = await open();
  announce(page, /status of 404/);
  for (const path of ["/p/123456789", "/@nobody", "/nowhere"]) {
    const answer = await page.goto(path);
    assert.equal(answer?.status(), 404, path);
    await page.getByRole("heading").first().waitFor();
    await home(page).click();
    await page.waitForURL((url) => url.pathname === "/");
  }
});
