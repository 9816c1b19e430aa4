// Drafts that could be lost: dropped by a guest, removed by mistake, posted after the session has ended.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, dropOrPaste, post, submitCredentials, toast, waitForPath, waitForSavedDraft } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { file } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

browserTest("a photo that a guest drops is a draft after the login", async ({ service, open, join }) => {
  const ada = await join("ada");
  const page = await open({ device: "desktop" });
  await page.goto("/");
  await page.waitForLoadState("load");
  await eventually("the login page is opened", async () => {
    if (new URL(page.url()).pathname === "/login") return true;
    await dropOrPaste(page, "drop", await file(0));
    return page.waitForURL("**/login**", { timeout: 1000 }).then(() => true, () => false);
  });
  await submitCredentials(page, "Log in", ada.username);
  await waitForPath(page, "/new");
  const { messages, post: send } = composer(page);
  await messages.first().fill("dropped before the login");
  await send.click();
  await eventually("it is posted", async () => (await feed(service.base))[0]?.message === "dropped before the login");
});

browserTest("dragging shows where to drop, and a file that is no image is refused with its name", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/");
  const hint = () => page.evaluate(() => getComputedStyle(document.body, "::after").content);
  const drag = (/** @type {string} */ type) => page.evaluate((type) => {
    const data = new DataTransfer();
    data.items.add(new File(["text"], "notes.txt", { type: "text/plain" }));
    document.querySelector("main")?.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
  }, type);
  await eventually("the hint is shown", async () => {
    await drag("dragover");
    return (await hint()).includes("Drop photos anywhere");
  });
  await screenshot(page, "dragging");
  await drag("drop");
  await toast(page).filter({ hasText: "notes.txt is not a photo" }).waitFor();
  assert.equal(await hint(), "none");
});

browserTest("of what a guest drops, only photos become drafts", async ({ service, open, join }) => {
  const ada = await join("ada");
  const page = await open({ device: "desktop" });
  await page.goto("/");
  await page.waitForLoadState("networkidle");
  const bad = { name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a photo at all") };
  await dropOrPaste(page, "drop", bad);
  await toast(page).filter({ hasText: "notes.jpg is not a photo we can read." }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/");
  await dropOrPaste(page, "drop", await file(0), bad);
  await waitForPath(page, "/login");
  await toast(page).filter({ hasText: "notes.jpg is not a photo we can read." }).waitFor();
  await submitCredentials(page, "Log in", ada.username);
  await waitForPath(page, "/new");
  const { messages, post: send } = composer(page);
  await messages.fill("the photo");
  assert.equal(await messages.count(), 1);
  await send.click();
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
});

browserTest("a removed draft can be brought back", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/new");
  const { files, messages, remove } = composer(page);
  await files.setInputFiles(await file(0));
  await messages.fill("a long text");
  await remove.click();
  await eventually("it is gone", async () => (await messages.count()) === 0);
  await screenshot(page, "draft-removed");
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await messages.inputValue(), "a long text");
  await waitForSavedDraft(page, ({ message }) => message === "a long text");
  await page.reload();
  await eventually("it is saved", async () => (await messages.inputValue()) === "a long text");
});

browserTest("after the session has ended, the composer leads to the login and back to the draft", async ({ service, open, join }) => {
  const ada = await join("ada");
  const page = await open({ as: ada });
  await page.goto("/new");
  const { files, messages, post: send } = composer(page);
  await files.setInputFiles(await file(0));
  await messages.fill("not lost");
  await page.context().clearCookies();
  expectError(page, /status of 401/);
  await send.click();
  const link = page.getByRole("link", { name: "Log in and come back to this draft" });
  await link.waitFor();
  await screenshot(page, "session-ended");
  await link.click();
  await waitForPath(page, "/login");
  await submitCredentials(page, "Log in", ada.username);
  await waitForPath(page, "/new");
  assert.equal(await messages.inputValue(), "not lost");
  await send.click();
  await post(page, "not lost").waitFor();
  assert.equal((await feed(service.base)).length, 1);
});
