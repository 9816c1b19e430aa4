// The composer: choosing, dropping and pasting photos, progress, cancelling, retrying, the offline queue.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { throttle } from "../lib/browser.js";
import { eventually } from "../lib/eventually.js";
import { composer, dropOrPaste, home, post, submitCredentials, waitForPath, waitForSavedDraft } from "../lib/locators.js";
import { allowError, expectError } from "../lib/page-errors.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

browserTest("a photo is posted with a message and a description", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/");
  await page.getByRole("link", { name: "New photo" }).click();
  await page.waitForURL("**/new");
  const { files, messages, descriptions, post: send } = composer(page);
  await files.setInputFiles(await file(0));
  await messages.fill("Morning walk");
  await descriptions.fill("Hills in fog");
  await screenshot(page, "composer-draft");
  await send.click();
  await post(page, "Morning walk").waitFor();
  const [created, ...others] = await feed(service.base);
  assert.deepEqual([created.message, others.length], ["Morning walk", 0]);
  await page.goto("/");
  await post(page, "Morning walk").getByRole("img", { name: "Hills in fog" }).waitFor();
});

browserTest("several photos become several posts, except a removed draft", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages, remove, post: send } = composer(page);
  await files.setInputFiles(await Promise.all([0, 1, 2, 3].map((number) => file(number))));
  await eventually("four drafts are listed", async () => (await messages.count()) === 4);
  for (const index of [0, 1, 2, 3]) await messages.nth(index).fill(`draft ${index}`);
  await screenshot(page, "composer-several");
  await remove.nth(1).click();
  await eventually("three drafts are left", async () => (await messages.count()) === 3);
  await send.click();
  await eventually("three posts are created", async () => (await feed(service.base)).length === 3, 30_000);
  assert.deepEqual((await feed(service.base)).map(({ message }) => message).sort(), ["draft 0", "draft 2", "draft 3"]);
});

for (const how of /** @type {const} */ (["drop", "paste"])) {
  browserTest(`a photo can be added to the composer by ${how}`, async ({ service, open, join }) => {
    const page = await open({ as: await join("ada"), device: "desktop" });
    await page.goto("/new");
    const { messages, post: send } = composer(page);
    await page.waitForLoadState("load");
    await eventually("the draft is listed", async () => {
      if (await messages.count()) return true;
      await dropOrPaste(page, how, await file(2));
      return messages.first().waitFor({ timeout: 1000 }).then(() => true, () => false);
    });
    await messages.first().fill(`by ${how}`);
    await send.click();
    await eventually("it is posted", async () => (await feed(service.base))[0]?.message === `by ${how}`);
  });
}

for (const how of /** @type {const} */ (["drop", "paste"])) {
  browserTest(`a photo added to the feed by ${how} becomes a draft in the composer`, async ({ service, open, join }) => {
    const page = await open({ as: await join("ada"), device: "desktop" });
    await page.goto("/");
    await dropOrPaste(page, how, await file(2));
    await waitForPath(page, "/new");
    const { messages, post: send } = composer(page);
    await messages.fill("landed here");
    await send.click();
    await waitForPath(page, "/");
    await post(page, "landed here").waitFor();
    assert.equal((await feed(service.base)).length, 1);
  });
}

for (const how of /** @type {const} */ (["choose", "drop", "paste"])) {
  browserTest(`a file that is no photo is refused by its bytes, with its name (${how})`, async ({ open, join }) => {
    const page = await open({ as: await join("ada"), device: "desktop" });
    await page.goto("/new");
    await page.waitForLoadState("networkidle");
    const { files, messages } = composer(page);
    for (const [name, content, refusal] of [
      ["notes.jpg", "not a photo at all", "notes.jpg is not a photo we can read. Choose one as JPEG, "],
      ["nothing.png", "", "nothing.png is empty. Choose the photo again, or another one."],
      ["film.heic", "\0\0\0\x14ftypisom\0\0\x02\0mp41", "film.heic is not a photo we can read."],
    ]) {
      const bad = { name, mimeType: "image/jpeg", buffer: Buffer.from(content, "latin1") };
      if (how === "choose") await files.setInputFiles([bad]);
      else await dropOrPaste(page, how, bad);
      await page.getByRole("alert").filter({ hasText: refusal }).waitFor();
      assert.equal(await messages.count(), 0);
    }
    await screenshot(page, "composer-refused");
    // A photo whose name and media type are wrong is a photo.
    await files.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: await photo(0) });
    await messages.waitFor();
    assert.equal(await page.getByRole("alert").filter({ hasText: /\S/ }).count(), 0);
  });
}

browserTest("every accepted format becomes a draft, also one that the browser cannot show", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages } = composer(page);
  const starts = {
    jpeg: "\xff\xd8\xff\xe0",
    png: "\x89PNG\r\n\x1a\n",
    gif: "GIF89a",
    webp: "RIFF\x10\0\0\0WEBP",
    avif: "\0\0\0\x1cftypavif\0\0\0\0",
    heic: "\0\0\0\x18ftypheic\0\0\0\0mif1heic",
    heix: "\0\0\0\x18ftypMiHB\0\0\0\0mp42heix",
  };
  await files.setInputFiles(Object.entries(starts).map(([type, start]) => ({ name: `a.${type}`, mimeType: `image/${type}`, buffer: Buffer.from(start, "latin1") })));
  await eventually("all are drafts", async () => (await messages.count()) === Object.keys(starts).length);
  await page.getByText("a.heic").waitFor();
  assert.equal(await page.getByRole("alert").filter({ hasText: /\S/ }).count(), 0);
});

browserTest("a damaged photo is refused by the server, and stays a draft", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  expectError(page, /status of 4\d\d/);
  await page.goto("/new");
  const { files, messages, retry, remove, post: send } = composer(page);
  await files.setInputFiles({ name: "damaged.jpg", mimeType: "image/jpeg", buffer: (await photo(0)).subarray(0, 300) });
  await page.getByText("No preview in this browser").waitFor();
  await send.click();
  await retry.waitFor();
  await page.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  assert.deepEqual(await feed(service.base), []);
  await remove.click();
  assert.equal(await messages.count(), 0);
  assert.equal(await send.isVisible(), false);
});

browserTest("on a phone the button to post is in sight, above the tab bar, and covers no field", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  for (const [width, height] of [[360, 640], [390, 844], [844, 390]]) {
    await page.setViewportSize({ width, height });
    await page.goto("/new");
    const { files, messages, descriptions, remove, post: send } = composer(page);
    const assertInSight = async (/** @type {string} */ what) => {
      await screenshot(page, `composer-${what.replaceAll(" ", "-")}-${width}`);
      const box = await send.evaluate((button) => {
        const { top, bottom, left, width, height } = button.getBoundingClientRect();
        const nav = /** @type {Element} */ (document.querySelector(".nav")).getBoundingClientRect();
        return { top, bottom, bars: nav.top > 100 ? nav.top : innerHeight, isOnTop: button.contains(document.elementFromPoint(left + width / 2, top + height / 2)) };
      });
      assert.ok(box.isOnTop && box.top > 0 && box.bottom <= box.bars - 4, `${what} at ${width} × ${height}: ${JSON.stringify(box)}`);
    };
    for (const [count, what] of /** @type {const} */ ([[1, "one photo"], [3, "three photos"]])) {
      await files.setInputFiles(await Promise.all(Array.from({ length: count - (await messages.count()) }, (_, number) => file(number))));
      await eventually(`${what} are listed`, async () => (await messages.count()) === count);
      await assertInSight(what);
    }
    await files.setInputFiles({ name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a photo at all") });
    await page.getByRole("alert").filter({ hasText: "notes.jpg" }).waitFor();
    await assertInSight("an error");
    // Each field is above the button once it has the focus.
    for (const field of [...(await messages.all()), ...(await descriptions.all())]) {
      await field.focus();
      const [area, button] = [await field.boundingBox(), await send.boundingBox()];
      assert.ok(area && button && area.y > 0 && area.y + area.height <= button.y, JSON.stringify({ area, button }));
    }
    // What can be undone does not cover the button.
    await remove.first().click();
    const undo = await page.getByRole("button", { name: "Undo" }).boundingBox();
    const button = await send.boundingBox();
    assert.ok(undo && button && undo.y + undo.height <= button.y, JSON.stringify({ undo, button }));
    while (await remove.count()) await remove.first().click();
  }
});

browserTest("an upload shows its progress and can be cancelled", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  await page.goto("/new");
  const { files, messages, progress, cancel, post: send } = composer(page);
  await files.setInputFiles(await file(5, { noise: 60 }));
  await messages.fill("half way");
  const unthrottle = await throttle(page, { up: 60_000, down: 1_000_000, latency: 20 });
  await send.click();
  const value = async () => Number(await progress.first().evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value));
  await progress.first().waitFor();
  const early = await eventually("the upload starts", value);
  await eventually("the upload progresses", async () => (await value()) > early);
  await screenshot(page, "composer-uploading");
  await cancel.first().click();
  await progress.first().waitFor({ state: "hidden" });
  await unthrottle();
  assert.equal(await messages.inputValue(), "half way", "expected the draft to stay");
  assert.deepEqual(await feed(service.base), []);
  await send.click();
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
});

browserTest("retrying an upload never posts twice", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  expectError(page, /failed: POST/);
  allowError(page, /Failed to load resource/);
  let calls = 0;
  // The server creates the post; only the response is lost.
  await page.route("**/posts", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    calls += 1;
    if (calls > 1) return route.fallback();
    await route.fetch();
    await route.abort("connectionreset");
  });
  await page.goto("/new");
  const { files, messages, retry, post: send } = composer(page);
  await files.setInputFiles(await file(1));
  await messages.fill("only once");
  await send.click();
  await retry.waitFor();
  assert.equal((await feed(service.base)).length, 1, "expected the post to exist on the server");
  // An edit between the attempts is applied to the existing post.
  await messages.fill("only once, and better");
  await retry.click();
  await waitForPath(page, "/");
  await post(page, "only once, and better").waitFor();
  assert.equal(calls, 2);
  assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["only once, and better"]);
});

browserTest("a draft queued offline is posted exactly once when the network is back", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  allowError(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const { files, messages, retry, post: send } = composer(page);
  await files.setInputFiles(await file(3));
  await messages.fill("from the tunnel");
  await page.context().setOffline(true);
  await page.getByRole("status").filter({ hasText: "You are offline." }).waitFor();
  await send.click();
  await retry.waitFor();
  await page.getByText("It will be posted as soon as the server can be reached.").waitFor();
  assert.deepEqual(await feed(service.base), []);
  await page.context().setOffline(false);
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
  await eventually("the draft is removed", async () => (await messages.count()) === 0);
  await home(page).click();
  await post(page, "from the tunnel").waitFor();
  await page.goto("/new");
  assert.equal(await messages.count(), 0);
  assert.equal((await feed(service.base)).length, 1);
});

browserTest("queued drafts are posted from the next page that is opened", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  allowError(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  const { files, retry, post: send } = composer(page);
  await files.setInputFiles([await file(3), await file(4)]);
  await page.context().setOffline(true);
  await send.click();
  await eventually("both drafts are queued", async () => (await retry.count()) === 2 && (await retry.last().isVisible()));
  await page.close();
  const next = await page.context().newPage();
  await page.context().setOffline(false);
  await next.goto("/");
  await next.getByRole("status").filter({ hasText: "Your photos are posted." }).waitFor();
  assert.equal((await feed(service.base)).length, 2);
});

browserTest("a queued draft is never shown to or posted as another user", async ({ service, open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const page = await open({ as: ada, serviceWorker: false });
  allowError(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  const { files, messages, retry, post: send } = composer(page);
  await files.setInputFiles(await file(3));
  await messages.fill("hers");
  await page.context().setOffline(true);
  await send.click();
  await retry.waitFor();
  // Another user's session in the same browser.
  await page.context().clearCookies();
  await page.context().addCookies([bob.sessionCookie()]);
  await page.context().setOffline(false);
  await page.goto("/new");
  await page.waitForLoadState("networkidle");
  assert.equal(await messages.count(), 0);
  // After its author's login it is posted.
  await page.context().clearCookies();
  await page.goto("/login");
  await submitCredentials(page, "Log in", "ada");
  await waitForPath(page, "/");
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
  assert.deepEqual((await feed(service.base)).map(({ user, message }) => [user.username, message]), [["ada", "hers"]]);
});

browserTest("drafts survive a reload", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/new");
  const { files, messages } = composer(page);
  await files.setInputFiles(await file(4));
  await messages.fill("not yet");
  await waitForSavedDraft(page, ({ message }) => message === "not yet");
  await page.reload();
  await eventually("it is there again", async () => (await messages.first().inputValue()) === "not yet");
});
