// Progressive web app: installability, offline cache, share target.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, message, openAccountMenu, posts, waitForSavedDraft, waitForServiceWorker } from "../lib/locators.js";
import { allowError, expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";
import { seed } from "../lib/seed.js";

browserTest("the manifest and icons meet the installability criteria", async ({ open }) => {
  const page = await open();
  await page.goto("/");
  await waitForServiceWorker(page);
  const session = await page.context().newCDPSession(page);
  const { errors, data } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(data ?? "");
  assert.ok(manifest.name && manifest.start_url && manifest.id && manifest.theme_color && manifest.background_color);
  assert.match(manifest.display, /standalone|minimal-ui/);

  const icons = await page.evaluate(async (declared) => {
    const fetched = [];
    for (const { src, sizes, type } of declared) {
      const response = await fetch(src);
      const image = type === "image/svg+xml" ? undefined : await createImageBitmap(await response.blob());
      fetched.push({ status: response.status, type: response.headers.get("content-type"), declared: [sizes, type], real: image && `${image.width}x${image.height}` });
    }
    return fetched;
  }, manifest.icons);
  for (const { status, type, declared, real } of icons) {
    assert.equal(status, 200);
    assert.equal(type, declared[1]);
    if (real) assert.equal(real, declared[0]);
  }
  for (const needed of ["192x192", "512x512"]) assert.ok(icons.some(({ declared }) => declared[0].includes(needed)), needed);
  assert.ok(manifest.icons.some((/** @type {any} */ { purpose }) => purpose?.includes("maskable")));

  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  // Playwright's contexts are incognito, where nothing can be installed; no other error may occur.
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"), []);
});

browserTest("the service worker keeps the session's cookie fresh by navigations alone", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/");
  await waitForServiceWorker(page);
  const cookie = async () => (await page.context().cookies()).find(({ name }) => name === "pinhole_session")?.expires ?? 0;
  await page.goto("/about");
  const before = await cookie();
  await page.evaluate(() => fetch("/about").then((response) => response.text()));
  assert.equal(await cookie(), before);
  await page.goto("/about");
  assert.ok((await cookie()) > before);
});

browserTest("pages that were opened before are readable offline", async ({ service, open }) => {
  const { posts: all } = await seed(service);
  const page = await open();
  allowError(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  await page.goto("/");
  await waitForServiceWorker(page);
  await page.goto(`/p/${all[0].id}`);
  await page.goto("/");
  await posts(page).first().waitFor();
  await page.context().setOffline(true);
  await page.goto("/");
  await posts(page).first().waitFor();
  await screenshot(page, "feed-without-network");
  await page.goto(`/p/${all[0].id}`);
  await message(page, "First light over the harbour").waitFor();
  // Not in the offline cache: the offline page instead of the browser's error.
  await page.goto(`/p/${all.at(-1)?.id}`);
  await page.getByRole("heading", { name: "You are offline" }).waitFor();
  await screenshot(page, "offline-instead");
  // It opens the wanted page by itself.
  await page.context().setOffline(false);
  await posts(page).first().waitFor();
});

browserTest("the composer is available offline to those who have not opened it", async ({ service, open }) => {
  const { ada } = await seed(service, 1);
  const page = await open({ as: ada });
  allowError(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  await page.goto("/");
  await waitForServiceWorker(page);
  await eventually("the composer is cached", () => page.evaluate(async () => Boolean(await caches.match("/new", { ignoreVary: true }))));
  await page.context().setOffline(true);
  await page.goto("/new");
  await composer(page).files.waitFor({ state: "attached" });
});

browserTest("the offline cache replaces an image when its AVIF is encoded", async ({ service, open }) => {
  const { posts: all } = await seed(service);
  const page = await open();
  await page.goto("/");
  await waitForServiceWorker(page);
  const path = `/photos/${all[0].photo.id}/260x260`;
  // As a browser asks for an image, past the HTTP cache, which keeps the first one for a minute.
  const type = () =>
    page.evaluate(async (path) => {
      const headers = { Accept: "image/avif,image/webp,*/*;q=0.8" };
      const response = await fetch(path, { headers, cache: "no-cache" });
      return response.headers.get("content-type");
    }, path);
  assert.equal(await type(), "image/webp");
  for (let tries = 0; (await type()) !== "image/avif"; tries++) {
    assert.ok(tries < 600, "no AVIF after two minutes");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await page.context().setOffline(true);
  assert.equal(await type(), "image/avif");
});

browserTest("logout clears the offline cache of the user's pages", async ({ service, open }) => {
  const { ada } = await seed(service, 3);
  const page = await open({ as: ada });
  allowError(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  await page.goto("/@ada");
  await waitForServiceWorker(page);
  await page.goto("/@ada");
  await openAccountMenu(page);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("link", { name: "Log in" }).first().waitFor();
  await page.context().setOffline(true);
  for (const path of ["/", "/@ada", "/new"]) {
    await page.goto(path);
    assert.equal(await page.getByRole("button", { name: "Log out" }).count(), 0, path);
    assert.equal(await page.getByRole("link", { name: "New photo" }).count(), 0, path);
  }
});

for (const referrer of ["origin", "no-referrer"]) {
  browserTest(`a form of another site cannot fill the composer (referrer policy ${referrer})`, async ({ open, join }) => {
    const page = await open({ as: await join("ada") });
    expectError(page, /status of 403/);
    allowError(page, /foreign: /);
    await page.goto("/");
    await waitForServiceWorker(page);
    const html = `<meta name=referrer content=${referrer}><form method=post enctype=multipart/form-data
      action="${new URL("/share", page.url())}"><input name=text value=planted><input name=photo type=file></form>`;
    const evil = createServer((_, response) => response.setHeader("content-type", "text/html").end(html)).listen(0, "127.0.0.1");
    try {
      await once(evil, "listening");
      const own = new URL(page.url()).origin;
      await page.goto(`http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (evil.address()).port}/`);
      await page.locator("[name=photo]").setInputFiles({ name: "planted.jpg", mimeType: "image/jpeg", buffer: await photo(0) });
      await page.evaluate(() => document.forms[0].submit());
      await page.waitForURL(`${own}/share*`);
      await page.goto(`${own}/new`);
      const { files, messages } = composer(page);
      await files.setInputFiles({ name: "own.jpg", mimeType: "image/jpeg", buffer: await photo(1) });
      await messages.first().fill("own");
      await waitForSavedDraft(page, ({ message }) => message === "own");
      // Lists all saved drafts at once.
      await page.reload();
      await messages.first().waitFor();
      assert.deepEqual(await messages.evaluateAll((areas) => areas.map((area) => /** @type {HTMLTextAreaElement} */ (area).value)), ["own"]);
    } finally {
      evil.close();
      evil.closeAllConnections();
    }
  });
}

for (const network of ["with", "without"]) {
  browserTest(`a photo shared from another app ${network} a network becomes a draft`, async ({ open, join }) => {
    const page = await open({ as: await join("ada") });
    await page.goto("/");
    await waitForServiceWorker(page);
    // Puts the composer into the offline cache.
    await page.goto("/new");
    await page.goto("/");
    const target = await page.evaluate(async () => {
      const link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=manifest]"));
      return (await (await fetch(link.href)).json()).share_target;
    });
    assert.deepEqual([target.method, target.enctype], ["POST", "multipart/form-data"]);
    if (network === "without") {
      allowError(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to fetch/);
      await page.context().setOffline(true);
    }
    await page.evaluate(({ action, params, base64 }) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], "shared.jpg", { type: "image/jpeg" }));
      data.items.add(new File(["words"], "notes.jpg", { type: "image/jpeg" }));
      const form = Object.assign(document.createElement("form"), { action, method: "post", enctype: "multipart/form-data" });
      const field = Object.assign(document.createElement("input"), { type: "file", name: params.files[0].name, files: data.files });
      const text = Object.assign(document.createElement("input"), { name: params.text, value: "from another app" });
      form.append(field, text);
      document.body.append(form);
      form.submit();
    }, { ...target, base64: (await photo(0)).toString("base64") });
    await page.waitForURL("**/new*");
    const { messages } = composer(page);
    await eventually("the draft is listed", async () => (await messages.count()) === 1);
    assert.match(await messages.inputValue(), /from another app/);
    await page.getByRole("alert").filter({ hasText: "notes.jpg is not a photo we can read." }).waitFor();
  });
}
