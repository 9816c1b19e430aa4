// Editing and deleting one's own posts.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { chooseFromMenu, dialog, menuButton, message, post, posts, waitForPath } from "../lib/locators.js";
import { photo } from "../lib/photos.js";

browserTest("editing changes the message and the description", async ({ service, open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "Mornign walk", alt: "Hills" });
  const page = await open({ as: ada });
  await page.goto("/");
  await chooseFromMenu(post(page, "Mornign walk"), "Edit");
  await dialog(page).getByLabel("Message").fill("Morning walk");
  await dialog(page).getByLabel("Describe the photo").fill("Hills in fog");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).waitFor({ state: "hidden" });
  await post(page, "Morning walk").waitFor();
  assert.equal((await feed(service.base))[0].message, "Morning walk");
  await page.reload();
  await post(page, "Morning walk").getByRole("img", { name: "Hills in fog" }).waitFor();
});

browserTest("deleting a post needs a confirmation", async ({ service, open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "stays" });
  await ada.post(await photo(1), { message: "goes" });
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/");
  await chooseFromMenu(post(page, "goes"), "Delete");
  await dialog(page).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "hidden" });
  assert.equal((await feed(service.base)).length, 2, "expected Escape to cancel");

  await chooseFromMenu(post(page, "goes"), "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await post(page, "goes").waitFor({ state: "detached" });
  assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["stays"]);
  await page.reload();
  await post(page, "stays").waitFor();
  assert.equal(await posts(page).count(), 1);
});

browserTest("deleting a post on its own page returns to the feed, and the last one to the empty state", async ({ open, join }) => {
  const ada = await join("ada");
  await ada.post(await photo(0), { message: "stays a little" });
  const { id } = await ada.post(await photo(1), { message: "goes" });
  const page = await open({ as: ada });
  await page.goto(`/p/${id}`);
  await chooseFromMenu(post(page, "goes"), "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await waitForPath(page, "/");
  await page.getByRole("status").filter({ hasText: "Deleted." }).waitFor();
  await chooseFromMenu(post(page, "stays a little"), "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No photos yet").waitFor();
});

browserTest("a message can be removed and added again", async ({ service, open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "too much" });
  const page = await open({ as: ada });
  await page.goto(`/p/${id}`);
  for (const text of ["", "two\nlines"]) {
    await chooseFromMenu(posts(page).first(), "Edit");
    await dialog(page).getByLabel("Message").fill(text);
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await dialog(page).waitFor({ state: "hidden" });
    assert.equal((await feed(service.base))[0].message ?? "", text);
    assert.equal(await page.locator(".message").isVisible(), Boolean(text));
  }
  assert.equal(await message(page, "two").innerText(), "two\nlines");
});

browserTest("posts of other users have no edit or delete", async ({ open, join }) => {
  await (await join("ada")).post(await photo(0), { message: "hers" });
  const page = await open({ as: await join("bob") });
  await page.goto("/");
  await post(page, "hers").waitFor();
  await menuButton(post(page, "hers")).click();
  await dialog(page).getByRole("button", { name: "Copy link" }).waitFor();
  for (const name of ["Edit", "Delete"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
});

browserTest("the link to a post can be copied", async ({ service, open, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  const page = await open({ as: ada, device: "desktop" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.base });
  await page.goto("/");
  await chooseFromMenu(post(page, "mine"), "Copy link");
  await eventually("the link is in the clipboard", async () =>
    (await page.evaluate(() => navigator.clipboard.readText())) === `${service.base}/p/${id}`);
});
