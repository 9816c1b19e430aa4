// Joining, coming back, leaving.

import assert from "node:assert/strict";

import { at, composer, enter, ownName } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

/** What a field says of itself, as a screen reader reads it. @param {import("playwright-core").Page} page @param {string} label */
async function complaint(page, label) {
  const field = page.getByLabel(label, { exact: true });
  if ((await field.getAttribute("aria-invalid")) !== "true") return "";
  const ids = (await field.getAttribute("aria-describedby"))?.split(" ") ?? [];
  const texts = await Promise.all(ids.map((id) => page.locator(`.problem#${id}`).allInnerTexts()));
  return texts.flat().join(" ");
}

story("somebody joins, leaves, and comes back", async ({ open }) => {
  const page = await open();
  await page.goto("/");
  await page.getByRole("link", { name: "Join", exact: true }).click();
  await at(page, "/join");
  await enter(page, "Join", "ada");
  await ownName(page, "ada").waitFor();
  assert.equal(new URL(page.url()).pathname, "/");

  await ownName(page, "ada").click();
  await at(page, "/@ada");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("link", { name: "Log in" }).click();
  await at(page, "/login");
  await enter(page, "Log in", "ada");
  await ownName(page, "ada").waitFor();
});

story("a wrong password is refused in words, and the name stays", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  announce(page, /status of 400/);
  await page.goto("/login");
  await enter(page, "Log in", "ada", "not the password");
  await page.getByRole("alert").filter({ hasText: "The username or the password is wrong." }).waitFor();
  assert.equal(await page.getByLabel("Username").inputValue(), "ada");
  await enter(page, "Log in", "ada");
  await ownName(page, "ada").waitFor();
});

story("a name that is taken is refused at its field", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  announce(page, /status of 409/);
  await page.goto("/join");
  await enter(page, "Join", "ada");
  await eventually("the field says so", async () => (await complaint(page, "Username")) === "This username is taken. Choose another.");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "username", "the focus is where something is to be done");
  await enter(page, "Join", "ada2");
  await ownName(page, "ada2").waitFor();
});

story("what cannot be right is said beside each field, before anything is sent", async ({ open }) => {
  const page = await open();
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await page.goto("/join");
  await enter(page, "Join", "with spaces", "short");
  assert.match(await complaint(page, "Username"), /letters a to z/);
  assert.match(await complaint(page, "Password"), /at least \d+ characters/);
  await page.goto("/login");
  await page.getByRole("button", { name: "Log in" }).click();
  assert.equal(await complaint(page, "Username"), "Enter your username.");
  assert.equal(await complaint(page, "Password"), "Enter your password.");
  assert.deepEqual(sent, []);
});

story("after logging in one is where one wanted to go", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  await page.goto("/new");
  await at(page, "/login");
  // Also when one was not here before and has to join first: the wish goes along.
  assert.match(await page.locator("#other").evaluate((link) => /** @type {HTMLAnchorElement} */ (link).search), /next=/);
  await enter(page, "Log in", "ada");
  await at(page, "/new");
  await composer(page).files.waitFor({ state: "attached" });
});

story("nobody is sent to another site after logging in", async ({ service, open, join }) => {
  await join("ada");
  const page = await open();
  for (const next of ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example/", "javascript:alert(1)"]) {
    await page.context().clearCookies();
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await enter(page, "Log in", "ada");
    await ownName(page, "ada").waitFor();
    assert.equal(new URL(page.url()).origin, service.base);
  }
});

story("without JavaScript the ways in say what they need, and offer nothing that fails", async ({ open }) => {
  const page = await open({ javaScript: false });
  for (const path of ["/join", "/login"]) {
    await page.goto(path);
    // Texts inside `noscript` are invisible to getByText, whether they are shown or not.
    assert.match(await page.locator("noscript").innerText(), /needs JavaScript/);
    assert.equal(await page.getByRole("button").count(), 0, path);
    assert.equal(await page.getByRole("textbox").count(), 0, path);
  }
});

story("a session that ended elsewhere leads to the way in, and back", async ({ open, join }) => {
  const ada = await join("ada");
  const page = await open({ as: ada });
  await page.goto("/@ada");
  await ada.call("POST", "/logout", 200);
  await page.goto("/new");
  await at(page, "/login");
  await enter(page, "Log in", "ada");
  await at(page, "/new");
});
