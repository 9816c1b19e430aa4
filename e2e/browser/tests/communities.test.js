// Blocking, hiding, reporting, moderation, joining by invitation, and leaving.

import assert from "node:assert/strict";

import { PASSWORD } from "../lib/api.js";
import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { openAccountMenu, submitCredentials, toast, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

/** @param {import("playwright-core").Page} page @param {string} text */
const told = (page, text) => toast(page).filter({ hasText: text }).waitFor();

/** @param {import("playwright-core").Page} page @param {string} message */
const card = (page, message) => page.getByRole("article").filter({ hasText: message });

/** Chooses an entry of a post's menu, by keyboard alone. @param {import("playwright-core").Page} page @param {string} message @param {string} entry */
async function choose(page, message, entry) {
  await card(page, message).getByRole("button", { name: "More" }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: entry }).press("Enter");
}

browserTest("a post is hidden, and its author blocked and unblocked", async ({ open, join }) => {
  const [ada, bob, carol] = [await join("ada"), await join("bob"), await join("carol")];
  await carol.post(await photo(0), { message: "by Carol" });
  await bob.post(await photo(1), { message: "first by Bob" });
  await bob.post(await photo(2), { message: "second by Bob" });
  await carol.post(await photo(3), { message: "also by Carol" });
  const page = await open({ as: ada });
  await page.goto("/");
  await choose(page, "also by Carol", "Hide post");
  await told(page, "Hidden from your lists.");
  assert.equal(await card(page, "also by Carol").count(), 0);
  await choose(page, "second by Bob", "Block bob");
  await told(page, "Blocked.");
  assert.equal(await page.getByRole("article").count(), 1);
  await page.reload();
  await card(page, "by Carol").waitFor();
  assert.equal(await page.getByRole("article").count(), 1);

  await page.goto("/settings");
  const blocks = page.getByRole("region", { name: "Blocked people" });
  await screenshot(page, "settings-blocks");
  await blocks.getByRole("button", { name: "Unblock" }).press("Enter");
  await told(page, "No longer blocked.");
  await page.goto("/");
  await card(page, "first by Bob").waitFor();
});

browserTest("a report is handled, and the author sees why", async ({ open, join, service }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  await join("grace");
  service.operator("user", "role", "ada", "moderator");
  const post = await bob.post(await photo(1), { message: "buy this" });
  const member = await open({ as: await join("carol") });
  await member.goto("/");
  await choose(member, "buy this", "Report…");
  const dialog = member.getByRole("dialog", { name: "Report this post" });
  await dialog.getByRole("button", { name: "Send report" }).press("Enter");
  await dialog.getByText("Enter a reason.").waitFor();
  await dialog.getByLabel("Reason").fill("An advertisement");
  await assertAccessible(member);
  await screenshot(member, "report");
  await dialog.getByRole("button", { name: "Send report" }).press("Enter");
  await told(member, "Thank you.");

  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/@ada");
  await openAccountMenu(page);
  assert.equal(await page.getByRole("link", { name: "Moderation" }).getAttribute("href"), "/admin");
  // Not by the link: Chromium rejects the view transition if the page is busy.
  await page.goto("/admin");
  const reports = page.getByRole("region", { name: "Reports" });
  await reports.getByText("An advertisement").waitFor();
  await reports.getByRole("button", { name: "Hide post" }).press("Enter");
  const reason = page.getByRole("dialog", { name: "Hide post" });
  await reason.getByLabel("Reason").fill("No advertisements, please.");
  await assertAccessible(page);
  await screenshot(page, "admin-reason");
  await reason.getByRole("button", { name: "Confirm" }).press("Enter");
  await told(page, "Done.");
  assert.equal(await reports.getByRole("listitem").count(), 0);

  const guest = await open();
  expectError(guest, /status of 404/);
  await guest.goto(`/p/${post.id}`);
  await guest.getByRole("heading", { name: "Nothing here" }).waitFor();
  const author = await open({ as: bob });
  await author.goto("/settings");
  await author.getByText("No advertisements, please.").waitFor();
  await screenshot(author, "settings-hidden-post");
  await author.goto(`/p/${post.id}`);
  await author.getByRole("article").waitFor();
});

browserTest("an invited person joins and accepts the terms", async ({ open, join, service }) => {
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  const owner = await open({ as: ada });
  await owner.goto("/admin");
  const form = owner.getByRole("form", { name: "This instance" });
  await form.getByLabel("Name", { exact: true }).fill("Birds of the north");
  await form.getByLabel("Terms").fill("Be kind.");
  await form.getByLabel("Who may join").selectOption("invitation");
  await form.getByRole("button", { name: "Save" }).press("Enter");
  await told(owner, "Saved.");
  await owner.getByRole("button", { name: "Make a link" }).press("Enter");
  const link = await owner.getByText("/join?invitation=").textContent();

  const page = await open();
  await page.goto("/about");
  await page.getByText("Joining needs an invitation.").waitFor();
  await page.getByRole("heading", { level: 1, name: "Birds of the north" }).waitFor();
  await screenshot(page, "about-instance");
  await page.goto("/join");
  await page.getByText("Ask a member").waitFor();
  await assertAccessible(page);
  await screenshot(page, "join-invitation");
  await page.goto(new URL(link ?? "").pathname + new URL(link ?? "").search);
  await submitCredentials(page, "Join", "bob");
  await page.getByText("Accept the terms to join.").waitFor();
  await page.getByLabel("I accept the terms").press("Space");
  await page.getByRole("button", { name: "Join" }).press("Enter");
  await page.getByRole("link", { name: "bob" }).first().waitFor();

  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ registration: "closed" }));
  const late = await open();
  await late.goto("/join");
  await late.getByText("takes no new members").waitFor();
  assert.equal(await late.getByLabel("Username").count(), 0);
  await screenshot(late, "join-closed");
});

browserTest("an owner sets the accent colour, limits and the logo", async ({ open, join, service }) => {
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  const page = await open({ as: ada });
  await page.goto("/admin");
  const form = page.getByRole("form", { name: "This instance" });
  await form.getByLabel("Accent colour").fill("red");
  expectError(page, /status of 400/);
  await form.getByLabel("Accent colour").press("Enter");
  await form.getByText("a colour has the form #b8442f").waitFor();
  await form.getByLabel("Accent colour").fill("#ffd400");
  const members = form.getByRole("group", { name: "Limits of members" });
  await members.getByLabel("Photos in 24 hours").fill("7");
  await form.getByRole("button", { name: "Save" }).press("Enter");
  await told(page, "Saved.");

  const logo = page.getByRole("form", { name: "Logo" });
  await logo.getByRole("button", { name: "Set logo" }).press("Enter");
  await logo.getByText("Choose an image.").waitFor();
  await logo.getByLabel("Image").setInputFiles({ name: "logo.png", mimeType: "image/png", buffer: await photo(2, { type: "png" }) });
  await logo.getByRole("button", { name: "Set logo" }).press("Enter");
  await logo.getByRole("button", { name: "Remove logo" }).waitFor();
  const shown = page.getByRole("banner").locator("img.logo");
  assert.equal(await shown.evaluate((image) => image instanceof HTMLImageElement && image.naturalWidth), 256);
  const save = form.getByRole("button", { name: "Save" });
  assert.deepEqual(
    await save.evaluate((button) => [getComputedStyle(button).backgroundColor, getComputedStyle(button).color]),
    ["rgb(255, 212, 0)", "rgb(0, 0, 0)"],
  );
  await assertAccessible(page);
  await screenshot(page, "admin-instance");
  await page.goto("/settings");
  await page.getByText("Posted in the last 24 hours: 0").waitFor();
  await page.goto("/admin");
  await logo.getByRole("button", { name: "Remove logo" }).press("Enter");
  await page.getByRole("banner").locator("svg").first().waitFor();
  assert.equal(await members.getByLabel("Photos in 24 hours").inputValue(), "7");
});

browserTest("a suspended person is told why, and can leave", async ({ open, join, service }) => {
  const bob = await join("bob");
  const post = await bob.post(await photo(1), { message: "mine" });
  service.operator("user", "suspend", "bob", "--reason", "Three warnings were enough.");
  const page = await open({ as: bob });
  await page.goto("/settings");
  await page.getByText("Your account is suspended").waitFor();
  await page.getByText("Three warnings were enough.").waitFor();
  await assertAccessible(page);
  await screenshot(page, "settings-suspended");

  expectError(page, /status of 400/);
  const form = page.getByRole("form", { name: "Delete your account" });
  await form.getByLabel("Current password").fill("wrong");
  await form.getByLabel("Current password").press("Enter");
  await form.getByText("The password is wrong.").waitFor();
  await form.getByLabel("Current password").fill(PASSWORD);
  await form.getByLabel("Current password").press("Enter");
  await waitForPath(page, "/");
  await page.getByRole("link", { name: "Log in" }).waitFor();
  const response = await fetch(`${service.base}/posts/${post.id}`);
  assert.equal(response.status, 404);
});

browserTest("a link of the operator sets a new password", async ({ open, join, service }) => {
  await join("ada");
  const owner = await join("grace");
  service.operator("user", "role", "grace", "owner");
  const { url } = await owner.call("POST", "/admin/users/ada/reset", 201);
  const page = await open();
  await page.goto(new URL(url).pathname + new URL(url).search + new URL(url).hash);
  assert.equal(await page.getByLabel("Username").inputValue(), "ada");
  assert.notEqual(await page.getByLabel("Recovery code").inputValue(), "");
  assert.equal(new URL(page.url()).hash, "");
  await page.getByLabel("New password").fill("a better horse");
  await page.getByRole("button", { name: "Set the new password" }).press("Enter");
  await waitForPath(page, "/settings");
});
