// Reading without an account: the feed, a post, a profile. Also without JavaScript.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { trackLayoutShifts } from "../lib/layout.js";
import { home, message, post, posts, profileHeading } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot, waitUntilStable } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

for (const javaScript of [true, false]) {
  browserTest(`a guest navigates from the feed to a post and a profile${javaScript ? "" : " without JavaScript"}`, async ({ service, open }) => {
    const { posts: all } = await seed(service, 4);
    const page = await open({ javaScript });
    await page.goto("/");
    const newest = posts(page).first();
    await message(newest, "First light over the harbour").waitFor();
    assert.equal(await posts(page).count(), 4);
    if (!javaScript) await screenshot(page, "feed-without-javascript");

    await newest.locator(".photo").click();
    await page.waitForURL(`**/p/${all[0].id}`);
    await message(page, "First light over the harbour").waitFor();
    assert.match(await page.title(), /ada/);

    await post(page, "First light").getByRole("link", { name: "ada", exact: true }).click();
    await page.waitForURL("**/@ada");
    await profileHeading(page, "ada").waitFor();
    assert.equal(await page.locator("main").getByRole("listitem").count(), 2, "expected only her posts");
    await page.locator(`a[href="/p/${all[2].id}"]`).click();
    await page.waitForURL(`**/p/${all[2].id}`);

    await home(page).click();
    await page.waitForURL((url) => url.pathname === "/");
  });
}

browserTest("without JavaScript pagination links lead to every post and back", async ({ open, join }) => {
  const ada = await join("ada");
  const small = await photo(0, { size: [160, 160] });
  for (let number = 1; number <= 45; number++) await ada.post(small, { message: `photo number ${number}.` });
  const page = await open({ javaScript: false });
  for (const [path, list, lengths] of /** @type {[string, string, number[]][]} */ ([["/", "article", [10, 10, 10, 10, 5]], ["/@ada", "#post-list li", [30, 15]]])) {
    await page.goto(path);
    const urls = [];
    for (const [turn, length] of lengths.entries()) {
      if (turn > 0) {
        await page.getByRole("link", { name: "Older photos" }).click();
        await page.getByRole("link", { name: "Back to the newest" }).waitFor();
      }
      const links = await page.locator(list).locator('a[href^="/p/"] .picture').evaluateAll((pictures) => pictures.map((picture) => picture.closest("a")?.href));
      assert.equal(links.length, length, `${path}, page ${turn + 1}`);
      urls.push(...links);
    }
    assert.equal(new Set(urls).size, 45, "expected every post once");
    assert.equal(await page.getByRole("link", { name: "Older photos" }).count(), 0);
    await page.getByRole("link", { name: "Back to the newest" }).click();
    await page.waitForURL((url) => url.pathname === path && !url.search);
  }
});

browserTest("slow images cause no layout shift", async ({ service, open }) => {
  await seed(service, 26);
  for (const device of /** @type {const} */ (["phone", "desktop"])) {
    const page = await open({ device, serviceWorker: false });
    const layoutShifts = await trackLayoutShifts(page);
    /** @type {() => void} */
    let release = () => undefined;
    const released = new Promise((resolve) => (release = () => resolve(undefined)));
    await page.route("**/photos/**", (route) => released.then(() => route.continue()));
    await page.goto("/", { waitUntil: "domcontentloaded" });
    await posts(page).first().waitFor();
    // Before any image is loaded each has its size, its alt text and a placeholder.
    const pictures = await posts(page).locator("img.picture").evaluateAll((images) =>
      images.map((image) => {
        const { width, height } = image.getBoundingClientRect();
        return { alt: image.getAttribute("alt"), width, height, placeholder: image.previousElementSibling?.getAttribute("src")?.slice(0, 11) };
      }),
    );
    assert.equal(pictures.length, 10);
    for (const { alt, width, height, placeholder } of pictures) {
      assert.ok(alt && width > 0 && width === height && placeholder === "data:image/", JSON.stringify({ alt, width, height, placeholder }));
    }
    await screenshot(page, "feed-before-pictures", { immediately: true });
    release();
    await waitUntilStable(page, { full: true });
    // Scrolls to the end of the feed.
    await eventually("the end is visible", async () => {
      await page.mouse.wheel(0, 700);
      await page.getByText("Loading…").waitFor({ state: "detached" });
      return page.getByText("That was all.").evaluateAll(([end]) => end && end.getBoundingClientRect().bottom <= innerHeight);
    }, 30_000);
    assert.equal(await posts(page).count(), 26);
    await waitUntilStable(page, { full: true });
    const { score, moved } = await layoutShifts();
    assert.ok(score < 0.02, `${device}: ${score}\n${moved.join("\n")}`);
  }
});

browserTest("a post's page has metadata for link previews", async ({ service, open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "Morning walk\nalong the river", alt: "Hills in fog" });
  const page = await open();
  await page.goto(`/p/${id}`);
  const metadata = await page.evaluate(() => Object.fromEntries(
    [...document.querySelectorAll("meta[property], meta[name], link[rel=canonical]")].map((tag) => [
      tag.getAttribute("property") ?? tag.getAttribute("name") ?? "canonical",
      tag.getAttribute("content") ?? tag.getAttribute("href"),
    ]),
  ));
  assert.equal(metadata["og:title"], "Morning walk · ada");
  assert.equal(metadata["og:description"], "Morning walk\nalong the river");
  assert.equal(metadata["og:url"], `${service.base}/p/${id}`);
  assert.equal(metadata.canonical, `${service.base}/p/${id}`);
  assert.equal(metadata["og:image:alt"], "Hills in fog");
  assert.equal(metadata["twitter:card"], "summary_large_image");
  const image = await page.evaluate(async (url) => {
    const response = await fetch(url, { headers: { accept: "*/*" } });
    const { width, height } = await createImageBitmap(await response.blob());
    return [response.status, response.headers.get("content-type"), width, height];
  }, metadata["og:image"] ?? "");
  assert.deepEqual(image, [200, metadata["og:image:type"], Number(metadata["og:image:width"]), Number(metadata["og:image:height"])]);
});

browserTest("missing pages show an error page with a link to the feed", async ({ open }) => {
  const page = await open();
  expectError(page, /status of 404/);
  for (const path of ["/p/123456789", "/@missing", "/nowhere"]) {
    const response = await page.goto(path);
    assert.equal(response?.status(), 404, path);
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
    await page.getByRole("link", { name: "To the newest photos" }).click();
    await page.waitForURL((url) => url.pathname === "/");
  }
});
