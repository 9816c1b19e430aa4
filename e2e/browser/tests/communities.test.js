// Blocking, hiding, reporting, moderation, joining by invitation, and leaving.

import assert from "node:assert/strict";

import { PASSWORD } from "../lib/api.js";
import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { chooseFromProfileMenu, dialog, openAccountMenu, submitCredentials, told, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

/** @param {import("playwright-core").Page} page @param {string} message */
const card = (page, message) => page.getByRole("article").filter({ hasText: message });

/** Chooses an entry of a post's menu, by keyboard alone. @param {import("playwright-core").Page} page @param {string} message @param {string} entry */
async function choose(page, message, entry) {
  await card(page, message).getByRole("button", { name: "More" }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: entry }).press("Enter");
}

browserTest("a hidden post comes back by undo, or from the settings", async ({ open, join }) => {
  const [ada, carol] = [await join("ada"), await join("carol")];
  for (const [index, message] of ["the first", "the second", "the third"].entries()) await carol.post(await photo(index), { message });
  const page = await open({ as: ada });
  await page.goto("/");
  const messages = () => page.getByRole("article").locator(".message").allTextContents();
  await choose(page, "the second", "Hide post");
  await told(page, "Hidden from your lists.");
  assert.deepEqual(await messages(), ["the third", "the first"]);
  await screenshot(page, "hide-undo");
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await card(page, "the second").waitFor();
  assert.deepEqual(await messages(), ["the third", "the second", "the first"]);
  await page.reload();
  assert.deepEqual(await messages(), ["the third", "the second", "the first"]);

  // From the post's own page, which leads to the feed.
  await page.goto(`/p/${(await carol.call("GET", "/feed", 200)).data[0].id}`);
  await choose(page, "the third", "Hide post");
  await waitForPath(page, "/");
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await card(page, "the third").waitFor();

  await choose(page, "the third", "Hide post");
  await told(page, "Hidden from your lists.");
  await page.goto("/settings");
  const hidden = page.getByRole("region", { name: "Hidden photos" });
  await hidden.getByRole("link", { name: "the third" }).waitFor();
  await assertAccessible(page);
  await screenshot(page, "settings-hidden-posts", { full: true });
  await hidden.getByRole("link", { name: "the third" }).click();
  await page.getByText("You have hidden this photo from your lists.").waitFor();
  await assertAccessible(page);
  await screenshot(page, "post-hidden");
  await page.getByRole("button", { name: "Show again" }).press("Enter");
  await told(page, "Shown in your lists again.");
  assert.equal(await page.getByText("You have hidden this photo").count(), 0);
  await choose(page, "the third", "Hide post");
  await waitForPath(page, "/");
  await page.goto("/settings");
  await hidden.getByRole("button", { name: "Show again" }).press("Enter");
  await told(page, "Shown in your lists again.");
  await hidden.getByText("You have hidden no photos.").waitFor();
  await page.goto("/");
  assert.deepEqual(await messages(), ["the third", "the second", "the first"]);
});

browserTest("the settings list many hidden posts in pages", async ({ open, join }) => {
  const [ada, carol] = [await join("ada"), await join("carol")];
  const ids = [];
  for (let number = 0; number < 14; number++) ids.push((await carol.post(await photo(0, { size: [40, 30] }), { message: `number ${number}.` })).id);
  for (const id of ids) await ada.call("PUT", `/me/hidden-posts/${id}`, 200);
  const page = await open({ as: ada });
  await page.goto("/settings");
  const hidden = page.getByRole("region", { name: "Hidden photos" });
  assert.equal(await hidden.getByRole("listitem").count(), 12);
  await hidden.getByRole("link", { name: "Older photos" }).click();
  await hidden.getByRole("link", { name: "number 0." }).waitFor();
  assert.equal(await hidden.getByRole("listitem").count(), 2);
  await hidden.getByRole("link", { name: "Back to the newest" }).click();
  await hidden.getByRole("link", { name: "number 13." }).waitFor();
  // When a page is emptied, the next one moves up.
  for (let left = 12; left > 0; left--) {
    await eventually("the last one is gone", async () => (await hidden.getByRole("listitem").count()) === left);
    await hidden.getByRole("button", { name: "Show again" }).first().click();
  }
  await eventually("the others are listed", async () => (await hidden.getByRole("listitem").count()) === 2);
});

browserTest("blocking asks first, says what it does, and can be undone everywhere", async ({ open, join }) => {
  const [ada, bob, carol] = [await join("ada"), await join("bob"), await join("carol")];
  await bob.post(await photo(1), { message: "first by Bob" });
  const { id } = await carol.post(await photo(0), { message: "by Carol" });
  await bob.post(await photo(2), { message: "second by Bob" });
  await bob.like(id);
  const page = await open({ as: ada });
  await page.goto("/");
  await choose(page, "second by Bob", "Block bob");
  const question = page.getByRole("dialog", { name: "Block bob?" });
  await question.getByText("bob cannot like your photos").waitFor();
  await assertAccessible(page);
  await screenshot(page, "block");
  await question.getByRole("button", { name: "Cancel" }).press("Enter");
  assert.deepEqual((await ada.call("GET", "/me/blocks", 200)).data, []);
  await choose(page, "second by Bob", "Block bob");
  await question.getByRole("button", { name: "Block" }).press("Enter");
  await told(page, "bob is blocked.");
  assert.equal(await page.getByRole("article").count(), 1);
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await card(page, "first by Bob").waitFor();
  assert.equal(await page.getByRole("article").count(), 3);

  await choose(page, "second by Bob", "Block bob");
  await question.getByRole("button", { name: "Block" }).press("Enter");
  await told(page, "bob is blocked.");
  // The like of Bob is counted, but he is in no list.
  await card(page, "by Carol").getByRole("button", { name: "Who likes it" }).click();
  await dialog(page).getByText("Only people who are left out of your lists like it.").waitFor();
  await page.goto("/settings");
  const blocks = page.getByRole("region", { name: "Blocked people" });
  await screenshot(page, "settings-blocks");
  await blocks.getByRole("button", { name: "Unblock" }).press("Enter");
  await told(page, "No longer blocked.");
  await blocks.getByText("You have blocked no one.").waitFor();
  await page.goto("/");
  await card(page, "first by Bob").waitFor();
});

browserTest("lists that blocks and hidden posts have emptied say so", async ({ open, join }) => {
  const [ada, bob, carol] = [await join("ada"), await join("bob"), await join("carol")];
  await bob.post(await photo(1), { message: "one by Bob #same" });
  await bob.post(await photo(2), { message: "two by Bob #same" });
  const { id } = await carol.post(await photo(0), { message: "by Carol" });
  const page = await open({ as: ada });
  await ada.call("PUT", `/me/hidden-posts/${id}`, 200);
  await page.goto("/@carol");
  await page.getByRole("heading", { name: "Nothing left to show you" }).waitFor();
  await page.getByText("0 photos").waitFor();
  await page.goto("/");
  await choose(page, "one by Bob", "Block bob");
  await dialog(page).getByRole("button", { name: "Block" }).press("Enter");
  await told(page, "bob is blocked.");
  for (const path of ["/", "/tags/same"]) {
    await page.goto(path);
    await page.getByRole("heading", { name: "Nothing left to show you" }).waitFor();
    await assertAccessible(page);
    await screenshot(page, path === "/" ? "feed-left-out" : "tag-left-out");
    assert.equal(await page.getByText("The first photo could be yours.").count(), 0);
  }
  await page.getByRole("link", { name: "Blocked people and hidden photos" }).click();
  await page.getByRole("region", { name: "Blocked people" }).getByRole("link", { name: "bob" }).click();
  await page.getByRole("heading", { name: "You have blocked bob." }).waitFor();
  assert.equal(await page.getByText("2 photos").count(), 0);
  assert.equal(await page.getByText("has not posted anything").count(), 0);
  await assertAccessible(page);
  await screenshot(page, "profile-blocked");
  await page.getByRole("main").getByRole("button", { name: "Unblock" }).click();
  await told(page, "No longer blocked.");
  await page.getByText("2 photos").waitFor();
  assert.equal(await page.locator("#post-list .tile").count(), 2);
  // For others, nothing is left out.
  const guest = await open();
  await guest.goto("/@carol");
  await guest.getByText("1 photo", { exact: true }).waitFor();
});

browserTest("one whose only photo a moderator has hidden is told so on the own profile", async ({ open, join, service }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  service.operator("user", "role", "ada", "moderator");
  const { id } = await bob.post(await photo(1), { message: "mine" });
  await ada.call("PUT", `/admin/posts/${id}/hidden`, 200, new URLSearchParams({ reason: "No advertisements." }));
  const page = await open({ as: bob });
  await page.goto("/@bob");
  await page.getByRole("heading", { name: "Your photos are hidden." }).waitFor();
});

browserTest("the menu of a profile reports, blocks and shares", async ({ open, join, service }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  service.operator("user", "role", "ada", "moderator");
  await bob.post(await photo(1), { message: "by Bob" });
  const page = await open({ as: await join("carol"), device: "desktop" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "share"));
  await page.goto("/@bob");
  await page.getByRole("button", { name: "More" }).click();
  await assertAccessible(page);
  await screenshot(page, "profile-menu");
  await page.locator("#profile-menu").getByRole("button", { name: "Copy link" }).click();
  await told(page, "The link is copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${service.base}/@bob`);

  await chooseFromProfileMenu(page, "Report…");
  const report = page.getByRole("dialog", { name: "Report bob" });
  await report.getByRole("button", { name: "Send report" }).press("Enter");
  await report.getByText("Enter a reason.").waitFor();
  await report.getByLabel("Reason").fill("Not a person");
  await screenshot(page, "report-user");
  await report.getByRole("button", { name: "Send report" }).press("Enter");
  await told(page, "Thank you.");
  const { data } = await ada.call("GET", "/admin/reports", 200);
  assert.deepEqual(data.map((/** @type {any} */ { reason, user }) => [user.username, reason]), [["bob", "Not a person"]]);

  await chooseFromProfileMenu(page, "Block bob");
  await page.getByRole("dialog", { name: "Block bob?" }).getByRole("button", { name: "Block" }).press("Enter");
  await page.getByRole("heading", { name: "You have blocked bob." }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("1 photo", { exact: true }).waitFor();
  await chooseFromProfileMenu(page, "Block bob");
  await page.getByRole("dialog", { name: "Block bob?" }).getByRole("button", { name: "Block" }).press("Enter");
  await page.getByRole("heading", { name: "You have blocked bob." }).waitFor();
  await chooseFromProfileMenu(page, "Unblock");
  await told(page, "No longer blocked.");
  await page.getByText("1 photo", { exact: true }).waitFor();
});

browserTest("guests share a profile, and log in to report it or a post", async ({ open, join }) => {
  const bob = await join("bob");
  const { id } = await bob.post(await photo(1), { message: "by Bob" });
  const page = await open();
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "share", {
      value: async (/** @type {ShareData} */ { url }) => Object.assign(document.documentElement, { title: url }),
      configurable: true,
    });
  });
  await page.goto("/@bob");
  await chooseFromProfileMenu(page, "Share…");
  await eventually("it is shared", () => page.evaluate(() => document.documentElement.title.endsWith("/@bob")));
  await page.getByRole("button", { name: "More" }).click();
  assert.equal(await page.locator("#profile-menu").getByText("Block").count(), 0);
  await page.getByRole("link", { name: "Report…" }).click();
  await waitForPath(page, "/login");
  assert.equal(new URL(page.url()).searchParams.get("next"), "/@bob");
  await page.goto("/");
  await choose(page, "by Bob", "Report…");
  await waitForPath(page, "/login");
  assert.equal(new URL(page.url()).searchParams.get("next"), `/p/${id}`);
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
  await reason.getByRole("button", { name: "Hide post" }).press("Enter");
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
  expectError(owner, /status of 403/);
  await form.getByRole("button", { name: "Save" }).press("Enter");
  await form.getByText("Enter your password.").waitFor();
  await form.getByLabel("Your password").fill(PASSWORD);
  await form.getByRole("button", { name: "Save" }).press("Enter");
  await told(owner, "Saved.");
  await owner.getByRole("button", { name: "Invite…" }).press("Enter");
  await owner.getByRole("dialog").getByRole("button", { name: "Invite" }).press("Enter");
  const field = owner.getByRole("dialog").getByLabel("Link");
  const link = await eventually("the link is shown", () => field.inputValue());

  const page = await open();
  await page.goto("/about");
  await page.getByText("Joining needs an invitation.").waitFor();
  await page.getByRole("heading", { level: 1, name: "Birds of the north" }).waitFor();
  await screenshot(page, "about-instance");
  await page.goto("/join");
  await page.getByText("Ask a member").waitFor();
  await assertAccessible(page);
  await screenshot(page, "join-invitation");
  await page.goto(new URL(link).pathname + new URL(link).search);
  await submitCredentials(page, "Join", "bob");
  await page.getByText("Accept the terms to join.").waitFor();
  await page.getByLabel("I accept the terms").press("Space");
  await page.getByRole("button", { name: "Join" }).press("Enter");
  await page.getByRole("link", { name: "bob" }).first().waitFor();

  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ registration: "closed", current_password: PASSWORD }));
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
  await form.getByText("Enter a colour such as #b8442f.").waitFor();
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
  assert.equal(await shown.evaluate((image) => image instanceof HTMLImageElement && image.naturalWidth), 96);
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
  const { url } = await owner.call("POST", "/admin/users/ada/reset", 201, new URLSearchParams({ current_password: PASSWORD }));
  const page = await open();
  await page.goto(new URL(url).pathname + new URL(url).search + new URL(url).hash);
  assert.equal(await page.getByLabel("Username").inputValue(), "ada");
  assert.notEqual(await page.getByLabel("Recovery code").inputValue(), "");
  assert.equal(new URL(page.url()).hash, "");
  await page.getByLabel("New password").fill("a better horse");
  await page.getByRole("button", { name: "Set the new password" }).press("Enter");
  await waitForPath(page, "/settings");
});
