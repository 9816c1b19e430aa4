// Changing and deleting what one posted, and only that.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { choose, dialog, post, posts } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { photo } from "../lib/photos.js";
import { story } from "../lib/story.js";

story("somebody mends a message and a description", async ({ service, open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "Mornign walk", alt: "Hills" });
  const page = await open({ as: ada });
  await page.goto("/");
  await choose(post(page, "Mornign walk"), "Edit");
  await dialog(page).getByLabel("Message").fill("Morning walk");
  await dialog(page).getByLabel("Describe the photo").fill("Hills in fog");
  await look(page, "edit-dialog");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).waitFor({ state: "hidden" });
  await post(page, "Morning walk").waitFor();
  assert.equal((await feed(service.base))[0].message, "Morning walk");
  await page.reload();
  await post(page, "Morning walk").getByRole("img", { name: "Hills in fog" }).waitFor();
});

story("somebody deletes a photo, after being asked", async ({ service, open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "stays" });
  await ada.post(await photo(1), { message: "goes" });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  await choose(post(page, "goes"), "Delete");
  await dialog(page).waitFor();
  await look(page, "delete-dialog");
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "hidden" });
  assert.equal((await feed(service.base)).length, 2, "who steps back keeps it");

  await choose(post(page, "goes"), "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await post(page, "goes").waitFor({ state: "detached" });
  assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["stays"]);
  await page.reload();
  await post(page, "stays").waitFor();
  assert.equal(await posts(page).count(), 1);
});

story("a dialog gives the focus back to where it came from", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  await choose(post(page, "mine"), "Edit");
  await dialog(page).waitFor();
  assert.ok(await dialog(page).evaluate((element) => element.contains(document.activeElement)), "the focus is inside");
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "hidden" });
  await eventually("the focus is back", () =>
    post(page, "mine").evaluate((element) => element.contains(document.activeElement)));
});

story("other people's photos cannot be changed", async ({ open, join }) => {
  await (await join("ada")).post(await photo(0), { message: "hers" });
  const page = await open({ as: await join("bob") });
  await page.goto("/");
  await post(page, "hers").waitFor();
  const more = post(page, "hers").getByRole("button", { name: "More" });
  if (await more.count()) await more.click();
  for (const name of ["Edit", "Delete"]) {
    assert.equal(await page.getByRole("button", { name }).or(page.getByRole("menuitem", { name })).filter({ visible: true }).count(), 0);
  }
});

story("the address of a photo can be copied", async ({ service, open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada, device: "desktop" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.base });
  await page.goto("/");
  await choose(post(page, "mine"), "Copy link");
  await eventually("it is in the clipboard", async () =>
    (await page.evaluate(() => navigator.clipboard.readText())) === `${service.base}/p/${id}`);
});
