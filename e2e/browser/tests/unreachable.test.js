// Without a network or a server: an own page for every address, which tells the two apart, and own posts in the feed as
// soon as there is a connection.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, message, post, posts, told, waitForServiceWorker } from "../lib/locators.js";
import { UNREACHABLE, allowError } from "../lib/page-errors.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";
import { pages } from "../pages.js";

const OFFLINE = "You are offline";
const NO_SERVER = "The server cannot be reached";

/** Addresses beside those of the page table. */
const OTHERS = ["/@unknown", "/no/such/page", "/feed.atom", "/@ada/feed.atom", "/docs/", "/users/ada", "/robots.txt", "/oembed", "/livez"];

/** What the service worker keeps of pages that were not opened before. */
const KEPT = ["/", "/new"];

/** Puts the feed into the offline cache. @param {import("playwright-core").Page} page */
async function keepFeed(page) {
  await page.goto("/");
  await waitForServiceWorker(page);
  await page.reload();
  await posts(page).first().waitFor();
}

/** @param {import("playwright-core").Page} page @param {string} path @param {string} heading */
async function showsInstead(page, path, heading) {
  await page.goto(path, { waitUntil: "commit" });
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, path);
  assert.equal(await page.title(), `${heading} · Pinhole`, path);
  assert.equal(new URL(page.url()).pathname, new URL(path, page.url()).pathname);
  assert.equal(await page.locator("#network-status").isVisible(), false, `${path}: the page says it already`);
}

browserTest("every address has an own page without a network and without a server", async ({ service, open }) => {
  const data = await seed(service, 2);
  const paths = await Promise.all(pages.filter(({ name }) => name !== "feed-older").map(({ path }) => path(data)));
  const addresses = new Set([...paths, ...OTHERS, `/photos/${data.posts[1].photo.id}/fit/480`]);
  for (const path of KEPT) addresses.delete(path);
  const page = await open({ as: data.ada });
  allowError(page, UNREACHABLE);
  await page.goto("/");
  await waitForServiceWorker(page);
  await service.stop();
  for (const path of addresses) await showsInstead(page, path, NO_SERVER);
  await screenshot(page, "unreachable");
  await page.context().setOffline(true);
  for (const path of addresses) await showsInstead(page, path, OFFLINE);
  await screenshot(page, "offline-instead");
  await page.context().setOffline(false);
});

browserTest("the page instead tells both apart while it is open, and gives way by itself or by its button", async ({ service, open }) => {
  await seed(service, 1);
  const page = await open();
  allowError(page, UNREACHABLE);
  await keepFeed(page);
  const about = page.getByText("Everyone can join.");
  await service.stop();
  await showsInstead(page, "/about", NO_SERVER);
  await page.context().setOffline(true);
  await page.getByRole("heading", { name: OFFLINE }).waitFor();
  await page.context().setOffline(false);
  await page.getByRole("heading", { name: NO_SERVER }).waitFor();
  await service.launch();
  await about.waitFor();

  await page.context().setOffline(true);
  await showsInstead(page, "/recovery", OFFLINE);
  await page.context().setOffline(false);
  await page.getByLabel("Recovery code").waitFor();

  await service.stop();
  await showsInstead(page, "/@unknown", NO_SERVER);
  await Promise.all([page.waitForEvent("load"), page.getByRole("link", { name: "Try again" }).click()]);
  await page.getByRole("heading", { name: NO_SERVER }).waitFor();
  await page.getByRole("link", { name: "To the newest photos" }).click();
  await posts(page).first().waitFor();
  await showsInstead(page, "/recovery", NO_SERVER);
  // Without the page's own requests, its button is the only way.
  await page.route("**/recovery", (route) => (route.request().method() === "HEAD" ? route.abort() : route.fallback()));
  await service.launch();
  await page.getByRole("link", { name: "Try again" }).click();
  await page.getByLabel("Recovery code").waitFor();
  // A page that was opened before is kept, those of tags and about the instance as well.
  await service.stop();
  await page.goto("/about");
  await about.waitFor();
  await page.getByText(`${NO_SERVER}. This is what was last seen.`).waitFor();
});

browserTest("the page instead has the language that was chosen", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  allowError(page, UNREACHABLE);
  await page.goto("/settings");
  await waitForServiceWorker(page);
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { level: 1, name: "Einstellungen" }).waitFor();
  await service.stop();
  await showsInstead(page, "/about", "Der Server ist nicht zu erreichen");
  await screenshot(page, "unreachable-german");
});

browserTest("the page instead is loaded again once a day", async ({ open }) => {
  const page = await open();
  await page.goto("/");
  await waitForServiceWorker(page);
  const kept = (/** @type {string} */ date) =>
    page.evaluate(async (date) => {
      const cache = await caches.open("offline");
      if (date) await cache.put("/offline", new Response("kept", { headers: { date } }));
      const response = await cache.match("/offline", { ignoreVary: true });
      return (await response?.text()) === "kept";
    }, date);
  assert.ok(await kept("Thu, 01 Jan 2026 00:00:00 GMT"));
  await page.goto("/about");
  await eventually("it is loaded", async () => !(await kept("")));
  assert.ok(await kept(new Date().toUTCString()));
  await page.goto("/about");
  await page.getByText("Everyone can join.").waitFor();
  assert.ok(await kept(""), "not with every page");
});

browserTest("the error page of a proxy before a dead server is replaced", async ({ service, open }) => {
  await seed(service, 1);
  const page = await open();
  allowError(page, UNREACHABLE);
  await keepFeed(page);
  await service.stop();
  const proxy = createServer((_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>502 Bad Gateway</h1>"));
  proxy.listen(Number(new URL(service.base).port), "127.0.0.1");
  await once(proxy, "listening");
  try {
    await showsInstead(page, "/about", NO_SERVER);
    await page.goto("/");
    await posts(page).first().waitFor();
    await page.getByText(`${NO_SERVER}. This is what was last seen.`).waitFor();
  } finally {
    proxy.closeAllConnections();
    await new Promise((closed) => proxy.close(closed));
  }
  await service.launch();
  await page.locator("#network-status").waitFor({ state: "hidden" });
});

for (const missing of /** @type {const} */ (["network", "server"])) {
  browserTest(`a photo that was queued without a ${missing} is in the feed as soon as it is posted`, async ({ service, open, join }) => {
    const ada = await join("ada");
    await ada.post(await photo(0), { message: "an earlier one" });
    const page = await open({ as: ada });
    allowError(page, UNREACHABLE);
    await keepFeed(page);
    await page.goto("/new");
    const { files, messages, retry, post: send } = composer(page);
    await files.setInputFiles(await file(3));
    await messages.fill("from the tunnel");
    if (missing === "server") await service.stop();
    else await page.context().setOffline(true);
    await send.click();
    await retry.waitFor();
    await page.goto("/");
    await post(page, "an earlier one").waitFor();
    const banner = page.getByText("This is what was last seen.");
    await banner.filter({ hasText: missing === "server" ? NO_SERVER : OFFLINE }).waitFor();
    if (missing === "server") await service.launch();
    else await page.context().setOffline(false);
    await told(page, "Your photos are posted.");
    assert.equal(await banner.isVisible(), false);
    await post(page, "from the tunnel").waitFor({ timeout: 5000 });
    await screenshot(page, `queued-without-${missing}`);
    assert.deepEqual(await posts(page).locator(".message").allTextContents(), ["from the tunnel", "an earlier one"]);
  });
}

browserTest("a photo that the service worker posts is in an open feed at once", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  const session = await page.context().newCDPSession(page);
  /** @type {string | undefined} */
  let registrationId;
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations.find(({ isDeleted }) => !isDeleted)?.registrationId;
  });
  await session.send("ServiceWorker.enable");
  await page.goto("/");
  await waitForServiceWorker(page);
  // The feed is empty: its first photo replaces the notice.
  await page.getByText("No photos yet").waitFor();
  const base64 = (await photo(2)).toString("base64");
  await page.evaluate(async (base64) => {
    const { newDraft, saveDraft } = await import(`${document.body.dataset.assets}/drafts.js`);
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const draft = newDraft(new File([bytes], "a.jpg", { type: "image/jpeg" }), "a.jpg", "ada", "by the worker");
    await saveDraft({ ...draft, queued: true });
  }, base64);
  assert.ok(registrationId);
  await session.send("ServiceWorker.dispatchSyncEvent", { origin: service.base, registrationId, tag: "drafts", lastChance: false });
  await message(page, "by the worker").waitFor({ timeout: 10_000 });
  assert.equal(await page.getByText("No photos yet").count(), 0);
});
