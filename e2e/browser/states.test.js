// Intermediate states: dialogs, drafts, errors. Checked for the same rules as the pages.

import { after, before, describe, test } from "node:test";

import { assertAccessible } from "./lib/axe.js";
import { steadily } from "./lib/browser-test.js";
import { DEVICES, close, open, throttle } from "./lib/browser.js";
import { eventually } from "./lib/eventually.js";
import { WINDOWS, assertFits } from "./lib/layout.js";
import { chooseFromMenu, chooseFromProfileMenu, composer, dialog, likeButton, likers, menuButton, openAccountMenu, post, submitCredentials, toast } from "./lib/locators.js";
import { allowError, assertNoErrors, setColorScheme } from "./lib/page-errors.js";
import { file } from "./lib/photos.js";
import { screenshot, screenshotFailure, waitUntilStable } from "./lib/screenshot.js";
import { seed } from "./lib/seed.js";
import { Service } from "./lib/service.js";

/** @typedef {import("playwright-core").Page} Page */

/** @type {Service} */ let service;
/** @type {import("./lib/seed.js").SeedData} */ let data;

before(async () => {
  service = await Service.start();
  data = await seed(service, 6);
});
after(() => service.dispose());

const ownPost = (/** @type {Page} */ page) => post(page, "First light over the harbour");

/**
 * Adds drafts, the first with a message.
 * @param {Page} page
 * @param {number[]} numbers
 * @param {{ noise?: number }} [options]
 */
async function addDrafts(page, numbers, options) {
  await page.goto("/new");
  const { files, messages } = composer(page);
  await files.setInputFiles(await Promise.all(numbers.map((number) => file(number, options))));
  await eventually("the drafts are listed", async () => (await messages.count()) === numbers.length);
  await messages.first().fill("Morning walk along the river");
}

/** @type {Record<string, (page: Page) => Promise<void>>} */
const STATES = {
  menu: async (page) => {
    await page.goto("/");
    await menuButton(ownPost(page)).click();
    await dialog(page).waitFor();
  },
  likers: async (page) => {
    await page.goto("/");
    await likers(ownPost(page)).click();
    await dialog(page).waitFor();
  },
  lightbox: async (page) => {
    await page.goto(`/p/${data.posts[0].id}`);
    await post(page, "First light over the harbour").locator(".photo").click();
    await dialog(page).waitFor();
  },
  "account-menu": async (page) => {
    await page.goto("/@ada");
    await openAccountMenu(page);
    await page.getByRole("button", { name: "Log out" }).waitFor();
  },
  "profile-menu": async (page) => {
    await page.goto(`/@${data.bob.username}`);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Report…" }).waitFor();
  },
  block: async (page) => {
    await page.goto(`/@${data.bob.username}`);
    await chooseFromProfileMenu(page, "Block");
    await dialog(page).getByRole("button", { name: "Block" }).waitFor();
  },
  "block-long-name": async (page) => {
    await page.goto("/");
    await chooseFromMenu(post(page, "Donaudampf"), "Block");
    await dialog(page).getByRole("button", { name: "Block" }).waitFor();
  },
  "unreachable-offline": async (page) => {
    // The icon of the tab may still be on its way.
    allowError(page, /ERR_INTERNET_DISCONNECTED/);
    await page.goto("/offline");
    await page.context().setOffline(true);
    await page.getByRole("heading", { name: "You are offline" }).waitFor();
  },
  edit: async (page) => {
    await page.goto("/");
    await chooseFromMenu(ownPost(page), "Edit");
    await dialog(page).getByRole("button", { name: "Save" }).waitFor();
  },
  "edit-refused": async (page) => {
    allowError(page, /status of 500/);
    await page.route("**/posts/*", (route) => (route.request().method() === "PATCH" ? route.fulfill({ status: 500, json: {} }) : route.fallback()));
    await STATES.edit(page);
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await dialog(page).getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  },
  report: async (page) => {
    await page.goto(`/p/${data.posts[1].id}`);
    await chooseFromMenu(page.getByRole("article"), "Report");
    await dialog(page).getByRole("button", { name: "Send report" }).waitFor();
  },
  "admin-reason": async (page) => {
    await page.goto("/admin");
    await page.getByRole("button", { name: "Dismiss" }).first().click();
    await dialog(page).getByRole("textbox", { name: "Reason" }).waitFor();
  },
  delete: async (page) => {
    await page.goto(`/p/${data.posts[0].id}`);
    await chooseFromMenu(ownPost(page), "Delete");
    await dialog(page).getByRole("button", { name: "Delete" }).waitFor();
  },
  toast: async (page) => {
    allowError(page, /status of 500/);
    await page.route("**/likes", (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto("/");
    await likeButton(ownPost(page)).click();
    await toast(page).waitFor();
  },
  "login-refused": async (page) => {
    allowError(page, /status of 400/);
    await page.goto("/login");
    await submitCredentials(page, "Log in", "ada", "not the password");
    await page.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  },
  "join-refused": async (page) => {
    await page.goto("/join");
    await submitCredentials(page, "Join", "not a name", "short");
    await page.getByText("Use 1 to 64 characters").waitFor();
  },
  "composer-draft": (page) => addDrafts(page, [1]),
  "composer-several": (page) => addDrafts(page, [0, 1, 2]),
  "settings-refused": async (page) => {
    await page.goto("/settings");
    await page.getByLabel("Website").fill("no address");
    await page.getByRole("form", { name: "Profile" }).getByRole("button").click();
    await page.getByText("Enter an address that begins with").waitFor();
  },
  "composer-not-an-image": async (page) => {
    await page.goto("/new");
    await composer(page).files.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("words") });
    await page.getByRole("alert").filter({ hasText: "notes.txt" }).waitFor();
  },
  "composer-sending": async (page) => {
    await addDrafts(page, [5, 6], { noise: 60 });
    await throttle(page, { up: 20_000, down: 1_000_000, latency: 20 });
    await composer(page).post.click();
    await eventually("the upload progresses", () => composer(page).progress.first().evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value > 4));
  },
  "composer-failed": async (page) => {
    allowError(page, /status of 500/);
    await page.route("**/posts", (route) => (route.request().method() === "POST" ? route.fulfill({ status: 500, json: {} }) : route.fallback()));
    await addDrafts(page, [2]);
    await composer(page).post.click();
    await composer(page).retry.waitFor();
  },
  "composer-queued": async (page) => {
    allowError(page, /ERR_INTERNET_DISCONNECTED/);
    await addDrafts(page, [3]);
    await page.context().setOffline(true);
    await composer(page).post.click();
    await composer(page).retry.waitFor();
  },
};

for (const [name, reach] of Object.entries(STATES)) {
  describe(name, () => {
    for (const device of /** @type {const} */ (["phone", "desktop"])) {
      test(device, (t) => steadily(t, async () => {
        const page = await open(data.base, { device, as: /login|join/.test(name) ? undefined : data.ada, serviceWorker: false });
        try {
          await reach(page);
          await screenshot(page, name);
          await assertAccessible(page);
          await assertFits(page);
          await setColorScheme(page, "dark");
          await screenshot(page, name);
          await assertAccessible(page, { only: ["color-contrast"] });
          for (const size of [DEVICES[device === "phone" ? "narrow" : "zoomed"].viewport, ...WINDOWS]) {
            await page.setViewportSize(size);
            await waitUntilStable(page);
            await assertFits(page);
          }
          assertNoErrors(page);
        } catch (error) {
          await screenshotFailure(page, `failed--${name}--${device}`);
          throw error;
        } finally {
          await close(page);
        }
      }));
    }
  });
}
