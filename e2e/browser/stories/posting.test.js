// Posting: chosen, several at once, dropped, pasted; seen on its way, cancelled, tried again, kept while there is no network.

import assert from "node:assert/strict";

import { feed } from "../lib/api.js";
import { slow } from "../lib/browser.js";
import { at, composer, enter, home, post } from "../lib/client.js";
import { eventually } from "../lib/eventually.js";
import { look } from "../lib/look.js";
import { file } from "../lib/photos.js";
import { story } from "../lib/story.js";
import { announce, tolerate } from "../lib/watch.js";

/** Gives a file to the page the way the desktop does. */
async function hand(/** @type {import("playwright-core").Page} */ page, /** @type {"drop" | "paste"} */ how, /** @type {Awaited<ReturnType<typeof file>>} */ { name, mimeType, buffer }) {
  await page.evaluate(({ how, name, mimeType, base64 }) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type: mimeType }));
    const options = { bubbles: true, cancelable: true };
    if (how === "paste") {
      document.body.dispatchEvent(new ClipboardEvent("paste", { ...options, clipboardData: data }));
    } else {
      for (const type of ["dragenter", "dragover", "drop"]) document.querySelector("main")?.dispatchEvent(new DragEvent(type, { ...options, dataTransfer: data }));
    }
  }, { how, name, mimeType, base64: buffer.toString("base64") });
}

story("somebody posts a photo with a message and a description", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/");
  await page.getByRole("link", { name: "New photo" }).click();
  await page.waitForURL("**/new");
  const { files, messages, descriptions, post: send } = composer(page);
  await files.setInputFiles(await file(0));
  await messages.fill("Morning walk");
  await descriptions.fill("Hills in fog");
  await look(page, "composer-draft");
  await send.click();
  await post(page, "Morning walk").waitFor();
  const [made, ...more] = await feed(service.base);
  assert.deepEqual([made.message, more.length], ["Morning walk", 0]);
  await page.goto("/");
  await post(page, "Morning walk").getByRole("img", { name: "Hills in fog" }).waitFor();
});

story("several photos at once become several posts, without the one that was removed", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), device: "desktop" });
  await page.goto("/new");
  const { files, messages, remove, post: send } = composer(page);
  await files.setInputFiles(await Promise.all([0, 1, 2, 3].map((number) => file(number))));
  await eventually("four drafts are there", async () => (await messages.count()) === 4);
  for (const index of [0, 1, 2, 3]) await messages.nth(index).fill(`draft ${index}`);
  await look(page, "composer-several");
  await remove.nth(1).click();
  await eventually("three are left", async () => (await messages.count()) === 3);
  await send.click();
  await eventually("three posts are made", async () => (await feed(service.base)).length === 3, 30_000);
  assert.deepEqual((await feed(service.base)).map(({ message }) => message).sort(), ["draft 0", "draft 2", "draft 3"]);
});

for (const how of /** @type {const} */ (["drop", "paste"])) {
  story(`a photo can come by ${how}`, async ({ service, open, join }) => {
    const page = await open({ as: await join("ada"), device: "desktop" });
    await page.goto("/new");
    const { messages, post: send } = composer(page);
    await page.waitForLoadState("load");
    await eventually("the draft is there", async () => {
      if (await messages.count()) return true;
      await hand(page, how, await file(2));
      return messages.first().waitFor({ timeout: 1000 }).then(() => true, () => false);
    });
    await messages.first().fill(`by ${how}`);
    await send.click();
    await eventually("it is posted", async () => (await feed(service.base))[0]?.message === `by ${how}`);
  });
}

for (const how of /** @type {const} */ (["drop", "paste"])) {
  story(`a photo that comes by ${how} to the feed is a draft in the composer`, async ({ service, open, join }) => {
    const page = await open({ as: await join("ada"), device: "desktop" });
    await page.goto("/");
    await hand(page, how, await file(2));
    await at(page, "/new");
    const { messages, post: send } = composer(page);
    await messages.fill("landed here");
    await send.click();
    await at(page, "/");
    await post(page, "landed here").waitFor();
    assert.equal((await feed(service.base)).length, 1);
  });
}

story("what is no photo is refused in words, and nothing is posted", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  announce(page, /status of 4\d\d/);
  await page.goto("/new");
  const { files, messages, again, remove, post: send } = composer(page);
  await files.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("not a photo at all") });
  await page.getByRole("alert").filter({ hasText: "notes.txt is not a photo we can read." }).waitFor();
  assert.equal(await messages.count(), 0);
  // Its name says photo: only the service finds out.
  await files.setInputFiles({ name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a photo at all") });
  await page.getByText("No preview in this browser").waitFor();
  await send.click();
  await again.waitFor();
  await page.getByRole("alert").filter({ hasText: /\S/ }).waitFor();
  assert.deepEqual(await feed(service.base), []);
  await remove.click();
  assert.equal(await messages.count(), 0);
  assert.equal(await send.isVisible(), false);
});

story("an upload shows how far it is, and can be cancelled", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), worker: false });
  await page.goto("/new");
  const { files, messages, progress, cancel, post: send } = composer(page);
  await files.setInputFiles(await file(5, { noise: 60 }));
  await messages.fill("half way");
  const fast = await slow(page, { up: 60_000, down: 1_000_000, latency: 20 });
  await send.click();
  const value = async () => Number(await progress.first().evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value));
  await progress.first().waitFor();
  const early = await eventually("it has begun", value);
  await eventually("it goes on", async () => (await value()) > early);
  await look(page, "composer-uploading");
  await cancel.first().click();
  await progress.first().waitFor({ state: "hidden" });
  await fast();
  assert.equal(await messages.inputValue(), "half way", "the draft is still there");
  assert.deepEqual(await feed(service.base), []);
  await send.click();
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
});

story("trying again never posts twice", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), worker: false });
  announce(page, /failed: POST/);
  tolerate(page, /Failed to load resource/);
  let calls = 0;
  // The service gets it and makes the post; only the answer is lost.
  await page.route("**/posts", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    calls += 1;
    if (calls > 1) return route.fallback();
    await route.fetch();
    await route.abort("connectionreset");
  });
  await page.goto("/new");
  const { files, messages, again, post: send } = composer(page);
  await files.setInputFiles(await file(1));
  await messages.fill("only once");
  await send.click();
  await again.waitFor();
  assert.equal((await feed(service.base)).length, 1, "the service has it, only the browser does not know");
  // Second thoughts in between are not lost.
  await messages.fill("only once, and better");
  await again.click();
  await at(page, "/");
  await post(page, "only once, and better").waitFor();
  assert.equal(calls, 2);
  assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["only once, and better"]);
});

story("what is posted without a network is sent when it is back, once", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  tolerate(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const { files, messages, again, post: send } = composer(page);
  await files.setInputFiles(await file(3));
  await messages.fill("from the tunnel");
  await page.context().setOffline(true);
  await page.getByRole("status").filter({ hasText: "You are offline." }).waitFor();
  await send.click();
  await again.waitFor();
  await page.getByText("It will be posted as soon as the network is back.").waitFor();
  assert.deepEqual(await feed(service.base), []);
  await page.context().setOffline(false);
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
  await eventually("it is no draft any more", async () => (await messages.count()) === 0);
  await home(page).click();
  await post(page, "from the tunnel").waitFor();
  await page.goto("/new");
  assert.equal(await messages.count(), 0);
  assert.equal((await feed(service.base)).length, 1);
});

story("what waits goes out from whichever page is open next", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), worker: false });
  tolerate(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  const { files, again, post: send } = composer(page);
  await files.setInputFiles([await file(3), await file(4)]);
  await page.context().setOffline(true);
  await send.click();
  await eventually("both wait", async () => (await again.count()) === 2 && (await again.last().isVisible()));
  await page.close();
  const next = await page.context().newPage();
  await page.context().setOffline(false);
  await next.goto("/");
  await next.getByRole("status").filter({ hasText: "Your photos are posted." }).waitFor();
  assert.equal((await feed(service.base)).length, 2);
});

story("what one person left waiting is never posted, nor shown, in another's name", async ({ service, open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const page = await open({ as: ada, worker: false });
  tolerate(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  const { files, messages, again, post: send } = composer(page);
  await files.setInputFiles(await file(3));
  await messages.fill("hers");
  await page.context().setOffline(true);
  await send.click();
  await again.waitFor();
  // She leaves, he comes, at the same device.
  await page.context().clearCookies();
  await page.context().addCookies([bob.session()]);
  await page.context().setOffline(false);
  // Her page is still open when the network is back, and does not know that the session is his now.
  await page.goto("/new");
  await page.waitForLoadState("networkidle");
  assert.equal(await messages.count(), 0);
  // When she is back it goes out, as hers.
  await page.context().clearCookies();
  await page.goto("/login");
  await enter(page, "Log in", "ada");
  await at(page, "/");
  await eventually("it is posted", async () => (await feed(service.base)).length === 1);
  assert.deepEqual((await feed(service.base)).map(({ user, message }) => [user.username, message]), [["ada", "hers"]]);
});

story("drafts survive a reload", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  await page.goto("/new");
  const { files, messages } = composer(page);
  await files.setInputFiles(await file(4));
  await messages.fill("not yet");
  await eventually("it is kept", async () => {
    await page.reload();
    return messages.first().inputValue({ timeout: 2000 }).then((text) => text === "not yet", () => false);
  });
});
