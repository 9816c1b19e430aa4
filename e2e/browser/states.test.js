// What pages look like while something happens: dialogs, drafts, messages. Held against the same rules as the pages.

import { after, before, describe, test } from "node:test";

import { assertAccessible } from "./lib/axe.js";
import { DEVICES, open, slow } from "./lib/browser.js";
import { choose, composer, dialog, enter, likeButton, more, post, toast } from "./lib/client.js";
import { eventually } from "./lib/eventually.js";
import { assertFits } from "./lib/layout.js";
import { keep, look, settle } from "./lib/look.js";
import { file } from "./lib/photos.js";
import { scene } from "./lib/scene.js";
import { Service } from "./lib/service.js";
import { assertQuiet, repaint, tolerate } from "./lib/watch.js";

/** @typedef {import("playwright-core").Page} Page */

/** @type {Service} */ let service;
/** @type {import("./lib/scene.js").Scene} */ let full;

before(async () => {
  service = await Service.start();
  full = await scene(service.base, 6);
});
after(() => service.end());

const mine = (/** @type {Page} */ page) => post(page, "First light over the harbour");

/** Chooses photos and says something about the first. @param {Page} page @param {number[]} numbers @param {{ noise?: number }} [options] */
async function drafts(page, numbers, options) {
  await page.goto("/new");
  const { files, messages } = composer(page);
  await files.setInputFiles(await Promise.all(numbers.map((number) => file(number, options))));
  await eventually("they are drafts", async () => (await messages.count()) === numbers.length);
  await messages.first().fill("Morning walk along the river");
}

/** @type {Record<string, (page: Page) => Promise<void>>} */
const STATES = {
  menu: async (page) => {
    await page.goto("/");
    await more(mine(page)).click();
    await dialog(page).waitFor();
  },
  edit: async (page) => {
    await page.goto("/");
    await choose(mine(page), "Edit");
    await dialog(page).getByRole("button", { name: "Save" }).waitFor();
  },
  "edit-refused": async (page) => {
    tolerate(page, /status of 500/);
    await page.route("**/posts/*", (route) => (route.request().method() === "PATCH" ? route.fulfill({ status: 500, json: {} }) : route.fallback()));
    await STATES.edit(page);
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await dialog(page).getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  },
  delete: async (page) => {
    await page.goto(`/p/${full.posts[0].id}`);
    await choose(mine(page), "Delete");
    await dialog(page).getByRole("button", { name: "Delete" }).waitFor();
  },
  toast: async (page) => {
    tolerate(page, /status of 500/);
    await page.route("**/likes", (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto("/");
    await likeButton(mine(page)).click();
    await toast(page).waitFor();
  },
  "login-refused": async (page) => {
    tolerate(page, /status of 400/);
    await page.goto("/login");
    await enter(page, "Log in", "ada", "not the password");
    await page.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  },
  "join-refused": async (page) => {
    await page.goto("/join");
    await enter(page, "Join", "not a name", "short");
    await page.getByText("A username has").waitFor();
  },
  "composer-draft": (page) => drafts(page, [1]),
  "composer-several": (page) => drafts(page, [0, 1, 2]),
  "composer-no-photo": async (page) => {
    await page.goto("/new");
    await composer(page).files.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("words") });
    await page.getByRole("alert").filter({ hasText: "notes.txt" }).waitFor();
  },
  "composer-sending": async (page) => {
    await drafts(page, [5, 6], { noise: 60 });
    await slow(page, { up: 20_000, down: 1_000_000, latency: 20 });
    await composer(page).post.click();
    await eventually("it is on its way", () => composer(page).progress.first().evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value > 4));
  },
  "composer-failed": async (page) => {
    tolerate(page, /status of 500/);
    await page.route("**/posts", (route) => (route.request().method() === "POST" ? route.fulfill({ status: 500, json: {} }) : route.fallback()));
    await drafts(page, [2]);
    await composer(page).post.click();
    await composer(page).again.waitFor();
  },
  "composer-queued": async (page) => {
    tolerate(page, /ERR_INTERNET_DISCONNECTED/);
    await drafts(page, [3]);
    await page.context().setOffline(true);
    await composer(page).post.click();
    await composer(page).again.waitFor();
  },
};

for (const [name, reach] of Object.entries(STATES)) {
  describe(name, () => {
    for (const device of /** @type {const} */ (["phone", "desktop"])) {
      test(device, async () => {
        const page = await open(full.base, { device, as: /login|join/.test(name) ? undefined : full.ada, worker: false });
        try {
          await reach(page);
          await look(page, name);
          await assertAccessible(page);
          await assertFits(page);
          await repaint(page, "dark");
          await look(page, name);
          await assertAccessible(page, { only: ["color-contrast"] });
          await page.setViewportSize(DEVICES[device === "phone" ? "narrow" : "zoomed"].viewport);
          await settle(page);
          await assertFits(page);
          assertQuiet(page);
        } catch (error) {
          await keep(page, `failed--${name}--${device}`);
          throw error;
        } finally {
          await page.context().close();
        }
      });
    }
  });
}
