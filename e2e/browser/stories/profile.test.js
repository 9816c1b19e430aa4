// The own profile: a photo of oneself, and how others see it.

import assert from "node:assert/strict";

import { person, toast } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { file, photo } from "../lib/photos.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

/** The large face, if there is one. @param {import("playwright-core").Page} page */
const face = (page) => page.getByRole("img", { name: "Profile photo of ada" });

story("somebody shows a face, changes it, and takes it away", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "mine" });
  const [own, other] = [await open({ as: ada }), await open({ device: "desktop" })];
  await own.goto("/@ada");
  assert.equal(await face(own).count(), 0);
  /** @type {string | undefined} */
  let before;
  for (const number of [3, 4]) {
    await own.getByLabel("Change photo").setInputFiles(await file(number));
    before = await eventually("a new face is shown", async () => {
      const now = (await face(own).count()) ? await face(own).getAttribute("src") : undefined;
      return now === before ? undefined : now;
    });
  }
  await look(own, "profile-with-face");
  await other.goto("/@ada");
  await face(other).waitFor();
  // Small beside what they posted, too.
  await other.goto("/");
  await other.getByRole("article").locator('.face img[src*="/photos/"]').waitFor();
  await other.goto("/@ada");
  await own.getByRole("button", { name: "Remove photo" }).click();
  await face(own).waitFor({ state: "detached" });
  await other.reload();
  await person(other, "ada").waitFor();
  assert.equal(await face(other).count(), 0);
});

story("only the own profile can be changed", async ({ open, join }) => {
  await join("ada");
  const page = await open({ as: await join("bob") });
  await page.goto("/@ada");
  await person(page, "ada").waitFor();
  for (const name of ["Change photo", "Remove photo", "Log out"]) {
    assert.equal(await page.getByText(name).filter({ visible: true }).count(), 0, name);
  }
});

story("a face that is no photo is refused in words", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  announce(page, /status of 4\d\d/);
  await page.goto("/@ada");
  await page.getByLabel("Change photo").setInputFiles({ name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a photo at all") });
  await toast(page).waitFor();
  assert.equal(await face(page).count(), 0);
});
