// Settings: profile, sessions, password, recovery codes.

import assert from "node:assert/strict";

import { PASSWORD } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { openAccountMenu, profileHeading, profileLink, submitCredentials, toast, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { screenshot } from "../lib/screenshot.js";

const NEW_PASSWORD = "a better horse";

/** @param {import("playwright-core").Page} page */
const sessions = (page) => page.getByRole("list").filter({ hasText: "This device" }).getByRole("listitem");

/** @param {import("playwright-core").Page} page @param {string} text */
const told = (page, text) => toast(page).filter({ hasText: text }).waitFor();

browserTest("a display name, a text and a website are saved, and shown on the profile", async ({ open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/settings");
  const form = page.getByRole("form", { name: "Profile" });
  const fields = /** @type {const} */ ([["Display name", "Ada Lovelace"], ["About you", "Hills, mostly.\nSometimes fog."], ["Website", "https://example.org/ada"]]);
  for (const [label, text] of fields) {
    await form.getByLabel(label).click();
    await page.keyboard.type(text);
  }
  await form.getByRole("button", { name: "Save" }).click();
  await told(page, "Saved.");
  await page.reload();
  for (const [label, text] of fields) assert.equal(await form.getByLabel(label).inputValue(), text);
  await profileLink(page, "ada").click();
  await profileHeading(page, "Ada Lovelace").waitFor();
  await page.getByText("Hills, mostly.").waitFor();
  await page.getByRole("link", { name: "example.org/ada" }).waitFor();
  await screenshot(page, "profile-with-texts");

  // What is refused is said at its field, and all three can be emptied.
  await page.goto("/settings");
  await form.getByLabel("Website").fill("example.org");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("Enter an address that begins with https://").waitFor();
  assert.equal(await form.getByLabel("Website").evaluate((field) => field === document.activeElement), true);
  for (const [label] of fields) await form.getByLabel(label).fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await told(page, "Saved.");
  await page.goto("/@ada");
  await profileHeading(page, "ada").waitFor();
  assert.equal(await page.getByText("Hills, mostly.").count(), 0);
});

browserTest("a session is ended from another device", async ({ open, join }) => {
  const ada = await join("ada");
  const [phone, desktop] = [await open(), await open({ as: ada, device: "desktop" })];
  await phone.goto("/login");
  await submitCredentials(phone, "Log in", "ada");
  await profileLink(phone, "ada").waitFor();

  await desktop.goto("/@ada");
  await openAccountMenu(desktop);
  await desktop.getByRole("link", { name: "Settings" }).click();
  await waitForPath(desktop, "/settings");
  assert.equal(await sessions(desktop).count(), 2);
  await sessions(desktop).filter({ hasText: /Chrom/ }).getByRole("button", { name: "Log out" }).click();
  await told(desktop, "Logged out there.");
  assert.equal(await sessions(desktop).count(), 1);
  await phone.goto("/settings");
  await waitForPath(phone, "/login");
});

browserTest("a new password logs out everywhere else", async ({ open, join }) => {
  const ada = await join("ada");
  const page = await open({ as: ada });
  const other = await open();
  await other.goto("/login");
  await submitCredentials(other, "Log in", "ada");
  await profileLink(other, "ada").waitFor();

  expectError(page, /status of 400/);
  await page.goto("/settings");
  const form = page.getByRole("form", { name: "Password" });
  const [current, password] = [form.getByLabel("Current password"), form.getByLabel("New password")];
  await form.getByRole("button").click();
  await form.getByText("Enter your password.").waitFor();
  await current.fill("not the password");
  await password.fill(NEW_PASSWORD);
  // By keyboard alone.
  await password.press("Enter");
  await form.getByText("The password is wrong.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "current_password");
  await current.fill(PASSWORD);
  await password.fill("password1");
  await password.press("Enter");
  await form.getByText("Choose another password").waitFor();
  await screenshot(page, "settings-weak-password");
  await password.fill(NEW_PASSWORD);
  await password.press("Enter");
  await told(page, "Your password is changed.");
  assert.equal(await current.inputValue(), "");
  assert.equal(await sessions(page).count(), 1);

  await other.goto("/settings");
  await waitForPath(other, "/login");
  await submitCredentials(other, "Log in", "ada", NEW_PASSWORD);
  await waitForPath(other, "/settings");
});

browserTest("a forgotten password is replaced with a recovery code", async ({ open, join }) => {
  const ada = await join("ada");
  const page = await open({ as: ada });
  await page.goto("/settings");
  const form = page.getByRole("form", { name: "Recovery codes" });
  await form.getByText("You have no codes.").waitFor();
  await form.getByLabel("Current password").fill(PASSWORD);
  await form.getByRole("button", { name: "Make new codes" }).click();
  await form.getByText("Unused codes: 10").waitFor();
  const codes = await form.getByRole("listitem").allInnerTexts();
  assert.equal(codes.length, 10);
  await screenshot(page, "settings-recovery-codes");
  const [download] = await Promise.all([page.waitForEvent("download"), form.getByRole("link", { name: "Save as a file" }).click()]);
  assert.equal(download.suggestedFilename(), "recovery-codes.txt");

  const other = await open();
  expectError(other, /status of 400/);
  await other.goto("/login");
  await other.getByRole("link", { name: "Forgot your password?" }).click();
  await waitForPath(other, "/recovery");
  await other.getByLabel("Username").fill("ada");
  await other.getByLabel("New password").fill(NEW_PASSWORD);
  await other.getByLabel("Recovery code").fill("abcd-efgh-ijkm-npqr");
  await other.getByRole("button", { name: "Set the new password" }).click();
  await other.getByRole("alert").filter({ hasText: "The username or the code is wrong" }).waitFor();
  await other.getByLabel("Recovery code").fill(codes[3].toUpperCase());
  await other.getByRole("button", { name: "Set the new password" }).click();
  await waitForPath(other, "/settings");
  await other.getByText("You have no codes.").waitFor();
  await page.goto("/settings");
  await waitForPath(page, "/login");
});
