// Joining, coming back, leaving; with and without JavaScript.

import assert from "node:assert/strict";

import { enter, ownName } from "../lib/client.js";
import { look } from "../lib/look.js";
import { story } from "../lib/story.js";
import { tolerate } from "../lib/watch.js";

for (const javaScript of [true, false]) {
  const how = javaScript ? "" : " without JavaScript";

  story(`somebody joins, leaves, and comes back${how}`, async ({ open }) => {
    const page = await open({ javaScript });
    await page.goto("/");
    await page.getByRole("link", { name: "Join" }).first().click();
    await page.waitForURL("**/join*");
    await enter(page, "Join", "ada");
    await ownName(page, "ada").waitFor();
    assert.equal(new URL(page.url()).pathname, "/");

    await ownName(page, "ada").click();
    await page.waitForURL("**/@ada");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("link", { name: "Log in" }).first().click();
    await page.waitForURL("**/login*");
    await enter(page, "Log in", "ada");
    await ownName(page, "ada").waitFor();
  });

  story(`a wrong password is refused in words, and the name stays${how}`, async ({ open, join }) => {
    await join("ada");
    const page = await open({ javaScript });
    tolerate(page, /status of 4\d\d/);
    await page.goto("/login");
    await enter(page, "Log in", "ada", "not the password");
    await page.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
    assert.equal(await page.getByLabel("Username").inputValue(), "ada");
    await look(page, `login-refused${javaScript ? "" : "-without-javascript"}`);
  });

  story(`a name that is taken is refused at its field${how}`, async ({ open, join }) => {
    await join("ada");
    const page = await open({ javaScript });
    tolerate(page, /status of 4\d\d/);
    await page.goto("/join");
    await enter(page, "Join", "ada");
    const field = page.getByLabel("Username");
    await page.locator("[aria-invalid=true]").waitFor();
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.ok(await field.getAttribute("aria-describedby"), "the field says what is wrong with it");
    await look(page, `join-refused${javaScript ? "" : "-without-javascript"}`);
  });
}

story("after logging in one is where one wanted to go", async ({ open, join }) => {
  await join("ada");
  const page = await open();
  await page.goto("/new");
  await page.waitForURL("**/login*");
  await enter(page, "Log in", "ada");
  await page.waitForURL("**/new");
  await page.getByLabel("Choose photos").waitFor({ state: "attached" });
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
