// The page of moderators and owners: members, one and many, invitations, and sizes. Reports are in communities.test.js.

import assert from "node:assert/strict";

import { ApiUser, PASSWORD } from "../lib/api.js";
import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { assertFits } from "../lib/layout.js";
import { toast } from "../lib/locators.js";
import { allowError, expectError, setColorScheme } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot, waitUntilStable } from "../lib/screenshot.js";

/** @typedef {import("playwright-core").Page} Page */

/** @param {Page} page @param {string} text */
const told = (page, text) => toast(page).filter({ hasText: text }).waitFor();

/** The parts of the list of members. @param {Page} page */
function members(page) {
  const region = page.getByRole("region", { name: "Members" });
  return {
    region,
    rows: region.getByRole("listitem"),
    search: region.getByLabel("Username begins with"),
    all: region.getByRole("checkbox", { name: "Select all" }),
    row: (/** @type {string} */ name) => region.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) }),
    box: (/** @type {string} */ name) => region.getByRole("checkbox", { name, exact: true }),
    act: (/** @type {string} */ name) => region.getByRole("button", { name, exact: true }),
    dialog: page.getByRole("dialog"),
    /** @param {string} text */
    count: (text) => region.getByText(text, { exact: true }).waitFor(),
  };
}

/** Restarts the service so that it believes `X-Forwarded-For`. @param {import("../lib/service.js").Service} service */
async function trustProxies(service) {
  await service.stop();
  await service.launch(["--trusted-proxies", "127.0.0.0/8"]);
}

/** Accounts that join from an address, by a proxy. @param {string} base @param {string[]} names @param {string} address */
async function joinFrom(base, names, address) {
  for (let at = 0; at < names.length; at += 4) {
    await Promise.all(names.slice(at, at + 4).map(async (username) => {
      const body = new URLSearchParams({ username, password: PASSWORD });
      const response = await fetch(`${base}/join/username`, { method: "POST", body, headers: { "x-forwarded-for": address } });
      assert.equal(response.status, 201, await response.text());
    }));
  }
}

/** @param {number} count @param {string} prefix */
const names = (count, prefix) => Array.from({ length: count }, (_, number) => `${prefix}${String(number + 1).padStart(2, "0")}`);

/** The statuses of all users. @param {ApiUser} owner @param {string} query @returns {Promise<Record<string, string>>} */
async function statuses(owner, query) {
  const { data } = await owner.call("GET", `/admin/users?limit=100&${query}`, 200);
  return Object.fromEntries(data.map((/** @type {any} */ { user, status }) => [user.username, status]));
}

browserTest("a wave of fifty spam accounts is suspended in five clicks", async ({ open, join, service }) => {
  await trustProxies(service);
  const grace = await join("grace");
  service.operator("user", "role", "grace", "moderator");
  await join("ada");
  await joinFrom(service.base, names(50, "spam"), "203.0.113.77");
  await join("zoe");
  const page = await open({ as: grace, device: "desktop" });
  const { rows, row, all, act, dialog, count, box } = members(page);
  let clicks = 0;
  const click = async (/** @type {import("playwright-core").Locator} */ target) => {
    clicks += 1;
    await target.click();
  };
  await page.goto("/admin");
  await count("Accounts: 53");
  assert.equal(await rows.count(), 50);
  await click(row("spam50").getByRole("link", { name: "203.0.113.0/24" }));
  await count("Accounts: 50");
  assert.equal(await box("ada").count(), 0);
  await click(all);
  await count("50 of 50 selected");
  await screenshot(page, "admin-spam-selected");
  await click(act("Suspend…"));
  await dialog.getByRole("heading", { name: "Suspend 50 accounts?" }).waitFor();
  await screenshot(page, "admin-spam-suspend");
  await page.keyboard.type("Spam");
  await click(dialog.getByLabel("Also hide the profile and its photos"));
  await click(dialog.getByRole("button", { name: "Suspend" }));
  await told(page, "Done: 50.");
  assert.equal(await rows.getByText("Suspended, hidden").count(), 50);
  assert.equal(clicks, 5);
  assert.ok(await page.getByRole("checkbox", { name: "Select all" }).evaluate((box) => box === document.activeElement));
  await screenshot(page, "admin-spam-suspended");

  service.operator("user", "role", "grace", "owner");
  const after = await statuses(grace, "status=hidden");
  assert.deepEqual(Object.keys(after).sort(), names(50, "spam"));
  assert.deepEqual(await statuses(grace, "status=active"), { ada: "active", grace: "active", zoe: "active" });
});

browserTest("what fails is told by name and stays selected, the rest is done", async ({ open, join, service }) => {
  const grace = await join("grace");
  service.operator("user", "role", "grace", "owner");
  for (const name of ["bot1", "bot2", "bot3", "bot4"]) await (await join(name)).post(await photo(1, { size: [400, 300] }));
  const page = await open({ as: grace, serviceWorker: false });
  const { rows, row, box, all, act, dialog, count, search } = members(page);
  await page.goto("/admin");
  await search.fill("BOT");
  await count("Accounts: 4");
  await all.press("Space");
  await act("Delete…").press("Enter");
  await dialog.getByRole("heading", { name: "Delete 4 accounts?" }).waitFor();
  await dialog.getByText("photos (4) are deleted for good").waitFor();
  await dialog.getByText("bot4, bot3, bot2, bot1").waitFor();
  await assertAccessible(page);
  await assertFits(page);
  await screenshot(page, "admin-delete");
  await dialog.getByRole("button", { name: "Delete" }).press("Enter");
  assert.equal(await dialog.getByLabel("Reason").evaluate((field) => field.matches(":invalid")), true, "a reason is required");
  await dialog.getByLabel("Your password").fill("not the password");
  await dialog.getByLabel("Reason").fill("  ");
  await dialog.getByRole("button", { name: "Delete" }).press("Enter");
  await dialog.getByText("Enter a reason.").waitFor();
  await dialog.getByLabel("Reason").fill("Spam");

  allowError(page, /status of (403|500)/);
  await dialog.getByRole("button", { name: "Delete" }).press("Enter");
  await dialog.getByText("bot1: Your password is wrong.").waitFor();
  assert.equal(await rows.count(), 4);
  await dialog.getByLabel("Your password").fill(PASSWORD);
  const failing = /** @type {[string, (route: import("playwright-core").Route) => Promise<void>]} */ (["**/admin/users/bot2", (route) => route.fulfill({ status: 500, json: {} })]);
  await page.route(...failing);
  await dialog.getByRole("button", { name: "Delete" }).press("Enter");
  await dialog.getByText("bot2: Something went wrong on the server.").waitFor();
  await dialog.getByText("Done: 3. Failed: 1.").waitFor();
  await screenshot(page, "admin-delete-failed");
  await assertAccessible(page);
  assert.equal(await rows.count(), 1);
  assert.ok(await box("bot2").isChecked(), "what failed stays selected");
  await page.unroute(...failing);
  await dialog.getByRole("button", { name: "Delete" }).press("Enter");
  await told(page, "Done.");
  await count("Accounts: 0");
  await page.getByText("No account matches.").waitFor();
  assert.equal(await row("bot2").count(), 0);
  // What was done is in the audit log without a reload.
  assert.equal(await page.getByRole("region", { name: "Audit log" }).getByText("bot2").count(), 1);
});

browserTest("an act on many accounts can be stopped", async ({ open, join, service }) => {
  await trustProxies(service);
  const grace = await join("grace");
  service.operator("user", "role", "grace", "owner");
  await joinFrom(service.base, names(12, "bot"), "203.0.113.77");
  const page = await open({ as: grace, serviceWorker: false });
  const { search, all, act, dialog, count } = members(page);
  await page.goto("/admin");
  await search.fill("bot");
  await count("Accounts: 12");
  await all.press("Space");
  await act("Suspend…").press("Enter");
  await dialog.getByLabel("Reason").fill("Spam");
  /** @type {(() => void)[]} */
  const held = [];
  await page.route("**/suspension", (route) => new Promise((resolve) => held.push(() => resolve(route.continue()))));
  await dialog.getByLabel("Reason").press("Tab");
  await dialog.getByRole("button", { name: "Suspend" }).press("Enter");
  await eventually("four requests are on their way", () => held.length === 4);
  await dialog.getByText("0 of 12").waitFor();
  await screenshot(page, "admin-progress");
  await page.keyboard.press("Escape");
  for (const release of held) release();
  await dialog.getByText("Done: 4. Failed: 0.").waitFor();
  assert.equal(held.length, 4);
  assert.equal(Object.keys(await statuses(grace, "status=suspended")).length, 4);
  await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
  await count("8 of 12 selected");
});

browserTest("a moderator sees what a moderator may do", async ({ open, join, service }) => {
  const [grace, ada] = [await join("grace"), await join("ada")];
  await join("linus");
  service.operator("user", "role", "grace", "moderator");
  service.operator("user", "role", "linus", "moderator");
  service.operator("user", "role", "ada", "owner");
  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ registration: "approval", current_password: PASSWORD }));
  await join("bob");
  await join("carol");
  const page = await open({ as: grace });
  const { region, row, box, act, all, count } = members(page);
  await page.goto("/admin");
  await count("Accounts: 5");
  await row("grace").getByText("You", { exact: true }).waitFor();
  await row("linus").getByText("Moderator", { exact: true }).waitFor();
  for (const name of ["grace", "linus", "ada"]) assert.ok(await box(name).isDisabled(), name);
  assert.equal(await page.getByRole("form", { name: "This instance" }).count(), 0);
  await page.getByRole("link", { name: "Accounts that wait for approval: 2" }).press("Enter");
  await count("Accounts: 2");
  await screenshot(page, "admin-waiting");
  await assertAccessible(page);
  // One is approved at once, by the keyboard alone.
  await box("bob").press("Space");
  await count("1 of 2 selected");
  const shown = () => region.getByRole("button").evaluateAll((buttons) => buttons.filter((button) => button.checkVisibility()).map(({ textContent }) => textContent));
  assert.deepEqual(await shown(), ["Approve", "Suspend…"]);
  await act("Approve").press("Enter");
  await told(page, "Done.");
  await count("Accounts: 1");
  assert.equal(await box("bob").count(), 0);
  await page.getByRole("link", { name: "Accounts that wait for approval: 1" }).waitFor();
  await page.getByRole("link", { name: "Clear the filter" }).press("Enter");
  await count("Accounts: 5");
  await all.press("Space");
  await count("2 of 5 selected");
  assert.deepEqual(await statuses(ada, "query=bob"), { bob: "active" });

  await box("carol").press("Space");
  await act("Suspend…").press("Enter");
  await page.getByRole("dialog").getByLabel("Reason").fill("Rude");
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).press("Enter");
  await told(page, "Done.");
  await row("bob").getByText("Suspended", { exact: true }).waitFor();
  await box("bob").press("Space");
  assert.deepEqual(await shown(), ["End the suspension", "Suspend…"]);
  await act("End the suspension").press("Enter");
  await eventually("the suspension has ended", async () => (await row("bob").getByText("Suspended", { exact: true }).count()) === 0);
});

browserTest("an owner changes roles and makes a password link", async ({ open, join, service }) => {
  const ada = await join("ada");
  await join("bob");
  await join("carol");
  service.operator("user", "role", "ada", "owner");
  const page = await open({ as: ada });
  const { row, box, act, dialog, count } = members(page);
  await page.goto("/admin");
  await count("Accounts: 3");
  // A row is ticked wherever it is clicked.
  await row("bob").click({ position: { x: 330, y: 20 } });
  assert.ok(await box("bob").isChecked());
  await box("carol").press("Space");
  assert.equal(await act("Make password link…").isVisible(), false, "it is for one account");
  await act("Change role…").press("Enter");
  await dialog.getByRole("heading", { name: "Change the role of 2 accounts" }).waitFor();
  await dialog.getByLabel("Role").selectOption("Moderator");
  await dialog.getByLabel("Your password").fill(PASSWORD);
  await assertAccessible(page);
  await screenshot(page, "admin-role");
  await dialog.getByRole("button", { name: "Change role" }).press("Enter");
  await told(page, "Done: 2.");
  await row("bob").getByText("Moderator", { exact: true }).waitFor();
  await row("carol").getByText("Moderator", { exact: true }).waitFor();

  await box("bob").press("Space");
  await act("Make password link…").press("Enter");
  await dialog.getByRole("heading", { name: "A new password for bob" }).waitFor();
  assert.equal(await dialog.getByLabel("Your password").inputValue(), "", "it is asked for each time");
  await dialog.getByLabel("Your password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Make password link" }).press("Enter");
  const link = dialog.getByLabel("Link");
  await eventually("the link is shown", async () => (await link.inputValue()).includes("/recovery?username=bob#"));
  await assertAccessible(page);
  await screenshot(page, "admin-password-link");
  await dialog.getByRole("button", { name: "Close" }).press("Enter");

  await box("carol").press("Space");
  await act("Delete…").press("Enter");
  await dialog.getByRole("heading", { name: "Delete carol?" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await count("1 of 3 selected");
});

browserTest("members are searched, filtered and paged", async ({ open, join, service }) => {
  await trustProxies(service);
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  await joinFrom(service.base, names(60, "bird"), "203.0.113.9");
  await joinFrom(service.base, ["Zoe"], "198.51.100.1");
  const page = await open({ as: ada, device: "desktop" });
  const { region, rows, row, search, all, act, count } = members(page);
  await page.goto("/admin");
  await count("Accounts: 62");
  assert.equal(await rows.count(), 50);
  await screenshot(page, "admin-members");
  await region.getByRole("link", { name: "Show more" }).press("Enter");
  await eventually("all are listed", async () => (await rows.count()) === 62);
  await row("ada").getByText("Owner").waitFor();
  assert.equal(await region.getByRole("link", { name: "Show more" }).count(), 0);

  await search.fill("zo");
  await count("Accounts: 1");
  await row("Zoe").getByText("198.51.100.0/24").waitFor();
  await page.reload();
  assert.equal(await search.inputValue(), "zo");
  await count("Accounts: 1");
  await search.fill("");
  await region.getByLabel("Role").selectOption("Owner");
  await count("Accounts: 1");
  await row("ada").waitFor();
  await region.getByLabel("Role").selectOption("All");
  await region.getByLabel("Joined").selectOption("The last hour");
  await count("Accounts: 62");
  await region.getByLabel("Network").fill("203.0.113");
  await region.getByText("Enter an address such as 203.0.113.7").waitFor();
  assert.equal(await region.getByLabel("Network").getAttribute("aria-invalid"), "true");
  await screenshot(page, "admin-network-refused");
  await region.getByLabel("Network").fill("203.0.113.0/24");
  await count("Accounts: 60");
  assert.equal(await region.getByText("Enter an address such as").count(), 0);
  await all.press("Space");
  await count("50 of 60 selected");
  await act("Also those not shown yet").press("Enter");
  await count("60 of 60 selected");
  await act("Change role…").press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "Change the role of 60 accounts" }).waitFor();
});

browserTest("invitations are made, listed and revoked", async ({ open, join, service }) => {
  const [ada, grace] = [await join("ada"), await join("grace")];
  service.operator("user", "role", "ada", "owner");
  service.operator("user", "role", "grace", "moderator");
  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ registration: "invitation", current_password: PASSWORD }));
  await grace.call("POST", "/invitations", 201);
  const page = await open({ as: ada });
  await page.goto("/admin");
  const region = page.getByRole("region", { name: "Invitations" });
  await region.getByText("By grace").waitFor();
  await region.getByRole("button", { name: "Invite…" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "A link to join" });
  await dialog.getByLabel("How many may join with it").fill("3");
  await assertAccessible(page);
  await screenshot(page, "admin-invite");
  await dialog.getByRole("button", { name: "Invite" }).press("Enter");
  await eventually("the link is shown", async () => (await dialog.getByLabel("Link").inputValue()).includes("/join?invitation="));
  const link = new URL(await dialog.getByLabel("Link").inputValue());
  await screenshot(page, "admin-invited");
  await dialog.getByRole("button", { name: "Close" }).press("Enter");
  await region.getByText("Uses left: 3 of 3").waitFor();
  const body = new URLSearchParams({ username: "bob", password: PASSWORD, invitation: link.searchParams.get("invitation") ?? "" });
  const joined = () => fetch(`${service.base}/join/username`, { method: "POST", body });
  assert.equal((await joined()).status, 201);
  await page.reload();
  const item = region.getByRole("listitem").filter({ hasText: "Uses left: 2 of 3" });
  await screenshot(page, "admin-invitations");

  // Moderators revoke what they and members made.
  const moderator = await open({ as: grace });
  await moderator.goto("/admin");
  const theirs = moderator.getByRole("region", { name: "Invitations" });
  assert.equal(await theirs.getByRole("listitem").count(), 2);
  assert.equal(await theirs.getByRole("button", { name: "Revoke…" }).count(), 1);

  await item.getByRole("button", { name: "Revoke…" }).press("Enter");
  await page.getByRole("dialog", { name: "Revoke this invitation?" }).getByRole("button", { name: "Revoke" }).press("Enter");
  await told(page, "Done.");
  assert.equal(await region.getByRole("listitem").count(), 1);
  body.set("username", "carol");
  assert.equal((await joined()).status, 400);
  await region.getByRole("button", { name: "Revoke…" }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).press("Enter");
  await region.getByText("No invitation is open.").waitFor();
});

browserTest("sizes are written as people write them", async ({ open, join, service }) => {
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  const quota = async () => (await ada.call("GET", "/instance", 200)).member_quota;
  const page = await open({ as: ada, device: "desktop" });
  await page.goto("/admin");
  const form = page.getByRole("form", { name: "This instance" });
  const group = form.getByRole("group", { name: "Limits of members" });
  const size = group.getByLabel("Size of all photos");
  const save = () => form.getByRole("button", { name: "Save" }).press("Enter");
  expectError(page, /status of 400/);
  for (const wrong of ["500", "many", "1.000 MB", "0 MB", "-5 GB", "2000 TB", "5 GBit"]) {
    await size.fill(wrong);
    await save();
    await group.getByText("Write a size such as 500 MB or 1.5 GB.").waitFor();
    assert.ok(await size.evaluate((field) => field === document.activeElement), wrong);
    await size.fill("");
  }
  await group.getByLabel("Photos in 24 hours").fill("10001");
  await save();
  await group.getByText(/whole number from 1 to 10,?000/).waitFor();
  await screenshot(page, "admin-quota-refused");
  await group.getByLabel("Photos in 24 hours").fill("");
  assert.deepEqual(await quota(), {});
  for (const [text, bytes, shown] of /** @type {const} */ ([
    ["1.5 GB", 1_500_000_000, "1.5 GB"],
    ["500mb", 500_000_000, "500 MB"],
    ["0,25 tb", 250_000_000_000, "250 GB"],
    ["1 GiB", 1_073_741_824, "1 GiB"],
    ["1234567 B", 1_234_567, "1234567 B"],
  ])) {
    await size.fill(text);
    // The value that is shown then means the same when it is saved.
    for (const value of [text, shown]) {
      assert.equal(await size.inputValue(), value);
      const reloaded = page.waitForEvent("load");
      await save();
      await reloaded;
      assert.equal((await quota()).bytes, bytes, value);
      assert.equal(await size.inputValue(), shown);
    }
  }

  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ member_bytes: "1500000000" }));
  const german = await open({ as: ada, locale: "de-DE" });
  await german.goto("/admin");
  const field = german.getByRole("group", { name: "Grenzen für Mitglieder" }).getByLabel("Größe aller Fotos");
  assert.equal(await field.inputValue(), "1,5 GB");
  expectError(german, /status of 400/);
  await field.fill("viel");
  await field.press("Enter");
  await german.getByText("Schreibe eine Größe wie 500 MB oder 1,5 GB.").waitFor();
});

browserTest("the page of moderation is usable at every width, in both languages and without scripts", async ({ open, join, service }) => {
  await trustProxies(service);
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  await joinFrom(service.base, ["bob_with-a.rather+long@name_that_goes_on", ...names(58, "bird")], "2001:db8:7::1");
  await ada.call("PATCH", "/admin/instance", 200, new URLSearchParams({ registration: "approval", current_password: PASSWORD }));
  await joinFrom(service.base, ["carol"], "203.0.113.77");
  service.operator("user", "suspend", "bird58", "--reason", "Spam");
  for (const locale of ["en-GB", "de-DE"]) {
    const page = await open({ as: ada, locale });
    await page.goto("/admin");
    for (const [width, height] of [[320, 640], [390, 844], [844, 390], [820, 1180], [1440, 900], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const state of ["list", "selected", "dialog"]) {
        if (state === "list") await page.locator("#members-title").scrollIntoViewIfNeeded();
        if (state === "selected") await page.locator("#select-all").check();
        if (state === "dialog") await page.locator("#members").getByRole("button", { name: /^(Delete|Löschen)/ }).click();
        await waitUntilStable(page);
        await assertFits(page);
        for (const scheme of /** @type {const} */ (["light", "dark"])) {
          await setColorScheme(page, scheme);
          await screenshot(page, `admin-${locale.slice(0, 2)}-${width}-${state}`);
          if (width !== 320 && width !== 844) await assertAccessible(page, scheme === "dark" ? { only: ["color-contrast"] } : {});
        }
      }
      await page.keyboard.press("Escape");
      await page.locator("#select-all").uncheck();
    }
  }
  const plain = await open({ as: ada, javaScript: false });
  await plain.goto("/admin");
  const { rows, search, region } = members(plain);
  assert.equal(await rows.count(), 50);
  await region.getByRole("link", { name: "Show more" }).click();
  assert.equal(await rows.count(), 11);
  await search.fill("carol");
  await search.press("Enter");
  assert.equal(await rows.count(), 1);
  expectError(plain, /status of 400/);
  await plain.goto("/admin?status=great");
});
