// The own profile: a photo of oneself, and how others see it.

import assert from "node:assert/strict";

import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { file, photo } from "../lib/photos.js";
import { story } from "../lib/story.js";

/** Where the face in a page comes from, or nothing. @param {import("playwright-core").Page} page */
const face = (page) => page.locator('main header img[src*="/photos/"]');

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
  await own.getByRole("button", { name: "Remove photo" }).click();
  await face(own).waitFor({ state: "detached" });
  await other.reload();
  await other.getByRole("heading", { name: "ada" }).waitFor();
  assert.equal(await face(other).count(), 0);
});

story("only the own profile can be changed", async ({ open, join }) => {
  await join("ada");
  const page = await open({ as: await join("bob") });
  await page.goto("/@ada");
  await page.getByRole("heading", { name: "ada" }).waitFor();
  for (const name of ["Change photo", "Remove photo", "Log out"]) {
    assert.equal(await page.getByText(name).filter({ visible: true }).count(), 0, name);
  }
});
