// Large photos on bad networks: an interrupted upload continues where it stopped.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";

import { feed } from "../lib/api.js";
import { browserTest } from "../lib/browser-test.js";
import { eventually } from "../lib/eventually.js";
import { composer, waitForPath } from "../lib/locators.js";
import { allowError } from "../lib/page-errors.js";
import { file } from "../lib/photos.js";

/** A network between browser and service, which counts what is sent and can be cut. */
class Network {
  /** Bytes from the browser. */
  sent = 0;
  /** Cuts all connections when this much was sent, one after the other. @type {number[]} */
  limits = [];
  /** After the last cut, until `repair`. */
  isDown = false;
  /** @type {Set<net.Socket>} */
  sockets = new Set();

  /** @param {string} base of the service */
  static async start(base) {
    const network = new Network();
    const target = new URL(base);
    network.server = net.createServer((browser) => {
      if (network.isDown) return void browser.destroy();
      const service = net.connect(Number(target.port), target.hostname);
      for (const socket of [browser, service]) {
        network.sockets.add(socket);
        // The other side may have been cut.
        socket.on("error", () => undefined);
        socket.on("close", () => network.sockets.delete(socket));
      }
      service.pipe(browser);
      browser.on("close", () => service.destroy());
      service.on("close", () => browser.destroy());
      browser.on("data", (/** @type {Buffer} */ bytes) => {
        network.sent += bytes.length;
        if (!service.write(bytes)) {
          browser.pause();
          service.once("drain", () => browser.resume());
        }
        if (network.sent > network.limits[0]) network.cut();
      });
    });
    network.server.listen(0, "127.0.0.1");
    await once(network.server, "listening");
    const address = /** @type {net.AddressInfo} */ (network.server.address());
    network.base = `http://127.0.0.1:${address.port}`;
    return network;
  }

  cut() {
    this.limits.shift();
    this.isDown = this.limits.length === 0;
    for (const socket of this.sockets) socket.destroy();
  }

  repair() {
    this.isDown = false;
  }

  base = "";
  /** @type {net.Server | undefined} */
  server;

  stop() {
    this.cut();
    this.server?.close();
  }
}

browserTest("an upload continues after the network was cut and the service restarted", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  allowError(page, /foreign|failed|Failed to load resource/);
  const network = await Network.start(service.base);
  try {
    await page.goto(`${network.base}/new`);
    const { files, messages, progress, post: send } = composer(page);
    const photo = await file(4, { type: "png", size: [1600, 1500], noise: 900 });
    assert.ok(photo.buffer.length > 5_000_000, `expected several pieces, got ${photo.buffer.length} bytes`);
    await files.setInputFiles(photo);
    await messages.fill("through a tunnel");
    const percent = () => progress.first().evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value);

    const before = network.sent;
    network.limits = [before + 1_500_000, before + 4_000_000];
    await send.click();
    await eventually("the network is cut twice", async () => network.isDown, 60_000);
    assert.ok((await percent()) > 0, "the progress is shown");
    await service.stop();
    await service.launch();
    network.repair();

    await waitForPath(page, "/");
    assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["through a tunnel"]);
    const sent = network.sent - before;
    assert.ok(sent < 2 * photo.buffer.length, `${sent} bytes were sent for ${photo.buffer.length}`);
  } finally {
    network.stop();
  }
});

browserTest("an upload continues after the page was reloaded", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada"), serviceWorker: false });
  allowError(page, /foreign|failed|Failed to load resource/);
  const network = await Network.start(service.base);
  try {
    await page.goto(`${network.base}/new`);
    const { files, messages, post: send } = composer(page);
    const photo = await file(4, { type: "png", size: [1600, 1500], noise: 900 });
    await files.setInputFiles(photo);
    await messages.fill("again");
    const before = network.sent;
    network.limits = [before + 3_000_000];
    await send.click();
    await eventually("the network is cut", async () => network.isDown, 60_000);
    network.repair();
    await page.reload();
    await messages.waitFor();
    await send.click();
    await waitForPath(page, "/");
    assert.deepEqual((await feed(service.base)).map(({ message }) => message), ["again"]);
    const sent = network.sent - before;
    assert.ok(sent < 2 * photo.buffer.length, `${sent} bytes were sent for ${photo.buffer.length}`);
  } finally {
    network.stop();
  }
});

browserTest("the service worker posts a large photo that was queued, while no page is open", async ({ service, open, join }) => {
  const page = await open({ as: await join("ada") });
  allowError(page, /ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  await page.goto("/new");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const devtools = await page.context().newCDPSession(page);
  /** @type {Promise<string>} */
  const registered = new Promise((resolve) => {
    devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations: [registration] }) => {
      if (registration) resolve(registration.registrationId);
    });
  });
  await devtools.send("ServiceWorker.enable");
  const registrationId = await registered;

  const { files, messages, retry, post: send } = composer(page);
  await files.setInputFiles(await file(4, { type: "png", size: [1600, 1500], noise: 900 }));
  await messages.fill("from the tunnel");
  await page.context().setOffline(true);
  await send.click();
  await retry.waitFor();
  await page.goto("about:blank");
  assert.deepEqual(await feed(service.base), []);
  await page.context().setOffline(false);
  // Background Sync, without its delay.
  await devtools.send("ServiceWorker.dispatchSyncEvent", { origin: service.base, registrationId, tag: "drafts", lastChance: false });
  await eventually("it is posted", async () => (await feed(service.base)).length === 1, 60_000);
  const [{ message, photo }] = await feed(service.base);
  assert.deepEqual([message, photo.width, photo.height], ["from the tunnel", 1600, 1500]);
});
