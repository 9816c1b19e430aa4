// Reading what others posted: the feed, one photo, one person. Nothing of it needs an account, or JavaScript.

import assert from "node:assert/strict";

import { home, message, person, post, posts } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { shifts } from "../lib/layout.js";
import { look, settle } from "../lib/look.js";
import { photo } from "../lib/photos.js";
import { scene } from "../lib/scene.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

for (const javaScript of [true, false]) {
  story(`somebody reads the feed, a photo and a person's photos${javaScript ? "" : " without JavaScript"}`, async ({ service, open }) => {
    const { posts: all } = await scene(service.base, 4);
    const page = await open({ javaScript });
    await page.goto("/");
    const newest = posts(page).first();
    await message(newest, "First light over the harbour").waitFor();
    assert.equal(await posts(page).count(), 4);
    if (!javaScript) await look(page, "feed-without-javascript");

    await newest.locator(".photo").click();
    await page.waitForURL(`**/p/${all[0].id}`);
    await message(page, "First light over the harbour").waitFor();
    assert.match(await page.title(), /ada/);

    await post(page, "First light").getByRole("link", { name: "ada", exact: true }).click();
    await page.waitForURL("**/@ada");
    await person(page, "ada").waitFor();
    assert.equal(await page.locator("main").getByRole("listitem").count(), 2, "only hers");
    await page.locator(`a[href="/p/${all[2].id}"]`).click();
    await page.waitForURL(`**/p/${all[2].id}`);

    await home(page).click();
    await page.waitForURL((url) => url.pathname === "/");
  });
}

story("without JavaScript older photos are a link away, to the end and back", async ({ open, join }) => {
  const ada = await join("ada");
  const small = await photo(0, { size: [160, 160] });
  for (let number = 1; number <= 45; number++) await ada.post(small, { message: `photo number ${number}.` });
  const page = await open({ javaScript: false });
  for (const [path, list, lengths] of /** @type {[string, string, number[]][]} */ ([["/", "article", [20, 20, 5]], ["/@ada", "#list li", [30, 15]]])) {
    await page.goto(path);
    const addresses = [];
    for (const [turn, length] of lengths.entries()) {
      if (turn > 0) {
        await page.getByRole("link", { name: "Older photos" }).click();
        await page.getByRole("link", { name: "Back to the newest" }).waitFor();
      }
      const links = await page.locator(list).locator('a[href^="/p/"] .picture').evaluateAll((pictures) => pictures.map((picture) => picture.closest("a")?.href));
      assert.equal(links.length, length, `${path}, page ${turn + 1}`);
      addresses.push(...links);
    }
    assert.equal(new Set(addresses).size, 45, "every photo once");
    assert.equal(await page.getByRole("link", { name: "Older photos" }).count(), 0);
    await page.getByRole("link", { name: "Back to the newest" }).click();
    await page.waitForURL((url) => url.pathname === path && !url.search);
  }
});

story("nothing moves while slow pictures arrive", async ({ service, open }) => {
  await scene(service.base, 26);
  for (const device of /** @type {const} */ (["phone", "desktop"])) {
    const page = await open({ device, worker: false });
    const moved = await shifts(page);
    /** @type {() => void} */
    let arrive = () => undefined;
    const arrived = new Promise((resolve) => (arrive = () => resolve(undefined)));
    await page.route("**/photos/**", (route) => arrived.then(() => route.continue()));
    await page.goto("/", { waitUntil: "domcontentloaded" });
    await posts(page).first().waitFor();
    // Without a single picture everything has its place, its words, and a haze of its colours.
    const pictures = await posts(page).locator("img.picture").evaluateAll((images) =>
      images.map((image) => {
        const { width, height } = image.getBoundingClientRect();
        return { alt: image.getAttribute("alt"), width, height, haze: image.previousElementSibling?.getAttribute("src")?.slice(0, 11) };
      }),
    );
    assert.equal(pictures.length, 20);
    for (const { alt, width, height, haze } of pictures) {
      assert.ok(alt && width > 0 && width === height && haze === "data:image/", JSON.stringify({ alt, width, height, haze }));
    }
    await look(page, "feed-before-pictures", { waiting: true });
    arrive();
    await settle(page, { full: true });
    // On to the end, as fast as one reads.
    await eventually("that was all", async () => {
      await page.mouse.wheel(0, 700);
      await page.getByText("Loading…").waitFor({ state: "detached" });
      return page.getByText("That was all.").evaluateAll(([end]) => end && end.getBoundingClientRect().bottom <= innerHeight);
    }, 30_000);
    assert.equal(await posts(page).count(), 26);
    await settle(page, { full: true });
    const { score, moved: what } = await moved();
    assert.ok(score < 0.02, `${device}: ${score}\n${what.join("\n")}`);
  }
});

story("a link to a photo tells elsewhere what it is", async ({ service, open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "Morning walk\nalong the river", alt: "Hills in fog" });
  const page = await open();
  await page.goto(`/p/${id}`);
  const told = await page.evaluate(() => Object.fromEntries(
    [...document.querySelectorAll("meta[property], meta[name], link[rel=canonical]")].map((tag) => [
      tag.getAttribute("property") ?? tag.getAttribute("name") ?? "canonical",
      tag.getAttribute("content") ?? tag.getAttribute("href"),
    ]),
  ));
  assert.equal(told["og:title"], "Morning walk · ada");
  assert.equal(told["og:description"], "Morning walk\nalong the river");
  assert.equal(told["og:url"], `${service.base}/p/${id}`);
  assert.equal(told.canonical, `${service.base}/p/${id}`);
  assert.equal(told["og:image:alt"], "Hills in fog");
  assert.equal(told["twitter:card"], "summary_large_image");
  const image = await page.evaluate(async (url) => {
    const answer = await fetch(url, { headers: { accept: "*/*" } });
    const { width, height } = await createImageBitmap(await answer.blob());
    return [answer.status, answer.headers.get("content-type"), width, height];
  }, told["og:image"] ?? "");
  assert.deepEqual(image, [200, told["og:image:type"], Number(told["og:image:width"]), Number(told["og:image:height"])]);
});

story("what is not there is said so, with a way back", async ({ open }) => {
  const page = await open();
  announce(page, /status of 404/);
  for (const path of ["/p/123456789", "/@nobody", "/nowhere"]) {
    const answer = await page.goto(path);
    assert.equal(answer?.status(), 404, path);
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
    await page.getByRole("link", { name: "To the newest photos" }).click();
    await page.waitForURL((url) => url.pathname === "/");
  }
});
