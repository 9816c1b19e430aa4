// An instance with a name, a description, a colour and a logo of its own.

import assert from "node:assert/strict";

import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { assertFits } from "../lib/layout.js";
import { allowError, setColorScheme } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

const NAME = "Birds of the north";

/** @param {import("../lib/api.js").ApiUser} owner @param {Record<string, string>} values */
const edit = (owner, values) => owner.call("PATCH", "/admin/instance", 200, new URLSearchParams(values));

/** @param {import("../lib/api.js").ApiUser} owner */
async function brand(owner) {
  await edit(owner, { name: NAME, description: "Photos of birds, by those who wait for them.", accent: "#0057b7" });
  const form = new FormData();
  form.set("logo", new Blob([new Uint8Array(await photo(3, { size: [600, 600] }))]), "logo.jpg");
  await owner.call("PUT", "/admin/instance/logo", 200, form);
}

browserTest("every page has the name, the colour and the logo of the instance", async ({ open, join, service }) => {
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  await brand(ada);
  await ada.post(await photo(0), { message: "A wren" });
  for (const [locale, as] of /** @type {const} */ ([["en-GB", undefined], ["de-DE", ada]])) {
    const page = await open({ locale, as, serviceWorker: false });
    allowError(page, /status of 404/);
    for (const path of as ? ["/", "/admin"] : ["/", "/join", "/about", "/p/123456789"]) {
      await page.goto(path);
      assert.match(await page.title(), new RegExp(NAME), path);
      const colours = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        return [style.getPropertyValue("--accent"), style.getPropertyValue("--brand")];
      });
      assert.equal(colours[0], "#0057b7", path);
      assert.match(colours[1], /#0057b7/, path);
      await assertFits(page);
      await screenshot(page, `branding${path.replace(/\W/g, "-")}-${locale}`);
      await setColorScheme(page, "dark");
      await assertAccessible(page, { only: ["color-contrast"] });
      await setColorScheme(page, "light");
      await assertAccessible(page, { only: ["color-contrast"] });
    }
  }
});

browserTest("the installed app and its offline page take a new name without a restart", async ({ open, join, service }) => {
  const ada = await join("ada");
  service.operator("user", "role", "ada", "owner");
  const page = await open();
  const offline = () => page.evaluate(async () => (await (await caches.match("/offline", { ignoreVary: true }))?.text())?.match(/<title>(.*)<\/title>/)?.[1]);
  await page.goto("/");
  await eventually("the worker is installed", async () => /Pinhole/.test((await offline()) ?? ""));
  await brand(ada);
  await page.goto("/about");
  await eventually("the worker is replaced", async () => new RegExp(NAME).test((await offline()) ?? ""));
  const manifest = await page.evaluate(async () => (await fetch("/manifest.webmanifest")).json());
  assert.equal(manifest.name, NAME);
});
