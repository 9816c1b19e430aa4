// Join, login and logout.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, openAccountMenu, profileLink, submitCredentials, waitForPath } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";

/**
 * The error message of an invalid field, found by `aria-describedby` as a screen reader does.
 * @param {import("playwright-core").Page} page
 * @param {string} label
 */
async function fieldError(page, label) {
  const field = page.getByLabel(label, { exact: true });
  if ((await field.getAttribute("aria-invalid")) !== "true") return "";
  const ids = (await field.getAttribute("aria-describedby"))?.split(" ") ?? [];
  const texts = await Promise.all(ids.map((id) => page.locator(`.error#${id}`).allInnerTexts()));
  return texts.flat().join(" ");
}

browserTest("a user joins, logs out and logs in again", async ({ open }) => {
  const page = await open();
  await page.goto("/");
  await page.getByRole("link", { name: "Join", exact: true }).first().click();
  await waitForPath(page, "/join");
  await submitCredentials(page, "Join", "ada");
  await profileLink(page, "ada").waitFor();
  assert.equal(new URL(page.url()).pathname, "/");

  await profileLink(page, "ada").click();
  await waitForPath(page, "/@ada");
  await openAccountMenu(page);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("link", { name: "Log in" }).click();
  await waitForPath(page, "/login");
  await submitCredentials(page, "Log in", "ada");
  await profileLink(page, "ada").waitFor();
});

browserTest("a wrong password shows an error and keeps the username", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  expectError(page, /status of 400/);
  await page.goto("/login");
  await submitCredentials(page, "Log in", "ada", "not the password");
  await page.getByRole("alert").filter({ hasText: "The username or the password is wrong." }).waitFor();
  assert.equal(await page.getByLabel("Username").inputValue(), "ada");
  await submitCredentials(page, "Log in", "ada");
  await profileLink(page, "ada").waitFor();
});

browserTest("a taken username is reported at its field", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  expectError(page, /status of 409/);
  await page.goto("/join");
  await submitCredentials(page, "Join", "ada");
  await eventually("the field shows the error", async () => (await fieldError(page, "Username")) === "This username is taken. Choose another.");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "username", "expected the focus in the invalid field");
  await submitCredentials(page, "Join", "ada2");
  await profileLink(page, "ada2").waitFor();
});

browserTest("a common password is reported at its field", async ({ open }) => {
  const page = await open();
  expectError(page, /status of 400/);
  await page.goto("/join");
  await submitCredentials(page, "Join", "ada", "password1");
  await eventually("the field shows the error", async () => /very common/.test(await fieldError(page, "Password")));
  await submitCredentials(page, "Join", "ada");
  await profileLink(page, "ada").waitFor();
});

browserTest("invalid fields are reported before anything is sent", async ({ open }) => {
  const page = await open();
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await page.goto("/join");
  await submitCredentials(page, "Join", "with spaces", "short");
  assert.match(await fieldError(page, "Username"), /a–z, A–Z, 0–9/);
  assert.match(await fieldError(page, "Password"), /at least \d+ characters/);
  await page.goto("/login");
  await page.getByRole("button", { name: "Log in" }).click();
  assert.equal(await fieldError(page, "Username"), "Enter your username.");
  assert.equal(await fieldError(page, "Password"), "Enter your password.");
  assert.deepEqual(sent, []);
});

browserTest("login continues to the requested page", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  await page.goto("/new");
  await waitForPath(page, "/login");
  // The link to join passes `next` on.
  assert.match(await page.locator("#alternative").evaluate((link) => /** @type {HTMLAnchorElement} */ (link).search), /next=/);
  await submitCredentials(page, "Log in", "ada");
  await waitForPath(page, "/new");
  await composer(page).files.waitFor({ state: "attached" });
});

browserTest("login never redirects to another origin", async ({ service, open, join }) => {
  await join("ada");
  const page = await open();
  for (const next of ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example/", "javascript:alert(1)"]) {
    await page.context().clearCookies();
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await submitCredentials(page, "Log in", "ada");
    await profileLink(page, "ada").waitFor();
    assert.equal(new URL(page.url()).origin, service.base);
  }
});

browserTest("without JavaScript the auth form says that it needs it, and has no controls", async ({ open }) => {
  const page = await open({ javaScript: false });
  for (const path of ["/join", "/login"]) {
    await page.goto(path);
    // getByText does not find text inside `noscript`.
    assert.match(await page.locator("noscript").innerText(), /needs JavaScript/);
    assert.equal(await page.getByRole("button").count(), 0, path);
    assert.equal(await page.getByRole("textbox").count(), 0, path);
  }
});

browserTest("an ended session redirects to login, and login back to the page", async ({ open, join }) => {
  const ada = await join("ada");
  const page = await open({ as: ada });
  await page.goto("/@ada");
  await ada.call("POST", "/logout", 200);
  await page.goto("/new");
  await waitForPath(page, "/login");
  await submitCredentials(page, "Log in", "ada");
  await waitForPath(page, "/new");
});
