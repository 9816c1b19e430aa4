// Pinhole as an app: installable, readable without a network, and a place to share photos to.

import assert from "node:assert/strict";

import { composer, message, posts } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { photo } from "../lib/photos.js";
import { scene } from "../lib/scene.js";
import { story } from "../lib/story.js";
import { tolerate } from "../lib/watch.js";

/** Waits until the worker looks after the page. @param {import("playwright-core").Page} page */
async function controlled(page) {
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await eventually("the worker looks after the page", async () => {
    if (await page.evaluate(() => Boolean(navigator.serviceWorker.controller))) return true;
    await page.reload();
    return false;
  });
}

story("browsers offer to install it", async ({ open }) => {
  const page = await open();
  await page.goto("/");
  await controlled(page);
  const session = await page.context().newCDPSession(page);
  const { errors, data } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(data ?? "");
  assert.ok(manifest.name && manifest.start_url && manifest.id && manifest.theme_color && manifest.background_color);
  assert.match(manifest.display, /standalone|minimal-ui/);

  const sizes = await page.evaluate(async (icons) => {
    const found = [];
    for (const { src, sizes, type } of icons) {
      const answer = await fetch(src);
      const image = type === "image/svg+xml" ? undefined : await createImageBitmap(await answer.blob());
      found.push({ status: answer.status, type: answer.headers.get("content-type"), declared: [sizes, type], real: image && `${image.width}x${image.height}` });
    }
    return found;
  }, manifest.icons);
  for (const { status, type, declared, real } of sizes) {
    assert.equal(status, 200);
    assert.equal(type, declared[1]);
    if (real) assert.equal(real, declared[0]);
  }
  for (const needed of ["192x192", "512x512"]) assert.ok(sizes.some(({ declared }) => declared[0].includes(needed)), needed);
  assert.ok(manifest.icons.some((/** @type {any} */ { purpose }) => purpose?.includes("maskable")));

  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  // A test's browser is a private window, which cannot install anything; nothing else may stand in the way.
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"), []);
});

story("what was read can be read again without a network", async ({ service, open }) => {
  const { posts: all } = await scene(service.base);
  const page = await open();
  tolerate(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  await page.goto("/");
  await controlled(page);
  await page.goto(`/p/${all[0].id}`);
  await page.goto("/");
  await posts(page).first().waitFor();
  await page.context().setOffline(true);
  await page.goto("/");
  await posts(page).first().waitFor();
  await look(page, "feed-without-network");
  await page.goto(`/p/${all[0].id}`);
  await message(page, "First light over the harbour").waitFor();
  // Never been here: it says so instead of showing the browser's own page.
  await page.goto(`/p/${all.at(-1)?.id}`);
  await page.getByRole("heading", { name: "You are offline" }).waitFor();
  await look(page, "offline-instead");
  await page.context().setOffline(false);
  await page.goto(`/p/${all.at(-1)?.id}`);
  await posts(page).first().waitFor();
});

story("what one read as oneself is not shown to whoever comes after logging out", async ({ service, open }) => {
  const { ada } = await scene(service.base, 3);
  const page = await open({ as: ada });
  tolerate(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  await page.goto("/@ada");
  await controlled(page);
  await page.goto("/@ada");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("link", { name: "Log in" }).first().waitFor();
  await page.context().setOffline(true);
  for (const path of ["/", "/@ada", "/new"]) {
    await page.goto(path);
    assert.equal(await page.getByRole("button", { name: "Log out" }).count(), 0, path);
    assert.equal(await page.getByRole("link", { name: "New photo" }).count(), 0, path);
  }
});

for (const network of ["with", "without"]) {
  story(`a photo shared from another app ${network} a network is a draft`, async ({ open, join }) => {
    const page = await open({ as: await join("ada") });
    await page.goto("/");
    await controlled(page);
    // The composer has been open before, as it has been for whoever shares from a train.
    await page.goto("/new");
    await page.goto("/");
    const target = await page.evaluate(async () => {
      const link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=manifest]"));
      return (await (await fetch(link.href)).json()).share_target;
    });
    assert.deepEqual([target.method, target.enctype], ["POST", "multipart/form-data"]);
    if (network === "without") {
      tolerate(page, /ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to fetch/);
      await page.context().setOffline(true);
    }
    await page.evaluate(({ action, params, base64 }) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], "shared.jpg", { type: "image/jpeg" }));
      const form = Object.assign(document.createElement("form"), { action, method: "post", enctype: "multipart/form-data" });
      const field = Object.assign(document.createElement("input"), { type: "file", name: params.files[0].name, files: data.files });
      const text = Object.assign(document.createElement("input"), { name: params.text, value: "from another app" });
      form.append(field, text);
      document.body.append(form);
      form.submit();
    }, { ...target, base64: (await photo(0)).toString("base64") });
    await page.waitForURL("**/new*");
    const { messages } = composer(page);
    await eventually("the draft is there", async () => (await messages.count()) === 1);
    assert.match(await messages.inputValue(), /from another app/);
  });
}
