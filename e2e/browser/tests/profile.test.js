// Profiles: the profile photo, and who can change it.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { throttle } from "../lib/browser.js";
import { eventually } from "../lib/eventually.js";
import { openAccountMenu, profileHeading, toast } from "../lib/locators.js";
import { file, photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

/** The large avatar, if there is a profile photo. @param {import("playwright-core").Page} page */
const avatar = (page) => page.getByRole("img", { name: "Profile photo of ada" });

browserTest("the profile photo can be set, changed and removed", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "mine" });
  const [own, other] = [await open({ as: ada }), await open({ device: "desktop" })];
  await own.goto("/@ada");
  assert.equal(await avatar(own).count(), 0);
  /** @type {string | undefined} */
  let before;
  for (const number of [3, 4]) {
    await own.getByLabel("Change photo").setInputFiles(await file(number));
    before = await eventually("the new profile photo is shown", async () => {
      const now = (await avatar(own).count()) ? await avatar(own).getAttribute("src") : undefined;
      return now === before ? undefined : now;
    });
  }
  await screenshot(own, "profile-with-photo");
  await other.goto("/@ada");
  await avatar(other).waitFor();
  // Also as the avatar of posts.
  await other.goto("/");
  await other.getByRole("article").locator('.avatar img[src*="/photos/"]').waitFor();
  await other.goto("/@ada");
  await openAccountMenu(own);
  await own.getByRole("button", { name: "Remove photo" }).click();
  const question = own.getByRole("dialog", { name: "Remove your profile photo?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await avatar(own).waitFor();
  await openAccountMenu(own);
  await own.getByRole("button", { name: "Remove photo" }).click();
  await screenshot(own, "profile-photo-remove");
  await question.getByRole("button", { name: "Remove" }).click();
  await avatar(own).waitFor({ state: "detached" });
  await other.reload();
  await profileHeading(other, "ada").waitFor();
  assert.equal(await avatar(other).count(), 0);
});

browserTest("a new profile photo shows its progress", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  await page.goto("/@ada");
  const unthrottle = await throttle(page, { up: 60_000, down: 1_000_000, latency: 20 });
  await page.getByLabel("Change photo").setInputFiles(await file(5, { noise: 60 }));
  const bar = page.getByRole("progressbar", { name: "Uploading" });
  const value = async () => Number(await bar.evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value));
  await bar.waitFor();
  const early = await eventually("the upload starts", value);
  await eventually("the upload progresses", async () => (await value()) > early);
  await unthrottle();
  await avatar(page).waitFor();
  await bar.waitFor({ state: "hidden" });
});

browserTest("another user's profile has no controls", async ({ open, join }) => {
  await join("ada");
  const page = await open({ as: await join("bob") });
  await page.goto("/@ada");
  await profileHeading(page, "ada").waitFor();
  for (const name of ["Change photo", "Remove photo", "Log out"]) {
    assert.equal(await page.getByText(name).filter({ visible: true }).count(), 0, name);
  }
});

browserTest("a profile photo that is no image is rejected with a toast", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/@ada");
  await page.getByLabel("Change photo").setInputFiles({ name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a photo at all") });
  await toast(page).filter({ hasText: "notes.jpg is not a photo we can read." }).waitFor();
  assert.equal(await avatar(page).count(), 0);
});
