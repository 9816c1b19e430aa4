// The user's data: an export that opens offline, and its import into another account.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { pathToFileURL } from "node:url";

import { assertAccessible } from "../lib/axe.js";
import { browserTest } from "../lib/browser-test.js";
import { toast } from "../lib/locators.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";
import { screenshot } from "../lib/screenshot.js";

browserTest("an account is downloaded, opened offline and imported", async ({ open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  await ada.post(await photo(0), { message: "The first <one>", alt: "A hill" });
  await ada.post(await photo(1), { message: "The second one" });
  const page = await open({ as: ada });
  await page.goto("/settings");
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download everything" }).press("Enter");
  const download = await downloading;
  await toast(page).filter({ hasText: "The download begins." }).waitFor();
  assert.match(download.suggestedFilename(), /^ada-\d{4}-\d\d-\d\d\.zip$/);
  const folder = mkdtempSync(joinPath(tmpdir(), "pinhole-archive-"));
  try {
    const archive = joinPath(folder, "ada.zip");
    await download.saveAs(archive);
    execFileSync("python3", ["-m", "zipfile", "-e", archive, folder]);

    const offline = await open({ device: "desktop" });
    await offline.goto(pathToFileURL(joinPath(folder, "index.html")).href);
    assert.equal(await offline.getByRole("heading", { level: 1 }).textContent(), "ada");
    assert.deepEqual(await offline.locator("figcaption p").allTextContents(), ["The second one", "The first <one>"]);
    const loaded = await offline.locator("img").evaluateAll((images) =>
      images.map((image) => image instanceof HTMLImageElement && image.naturalWidth > 0));
    assert.deepEqual(loaded, [true, true]);
    await assertAccessible(offline);
    await screenshot(offline, "archive");

    const other = await open({ as: bob });
    await other.goto("/settings");
    const form = other.getByRole("region", { name: "Your data" });
    await form.getByRole("button", { name: "Import" }).press("Enter");
    await form.getByText("Choose a zip file.").waitFor();
    await form.getByLabel("Zip file").setInputFiles({ name: "a.zip", mimeType: "application/zip", buffer: Buffer.from("no zip") });
    expectError(other, /status of 400/);
    await form.getByRole("button", { name: "Import" }).press("Enter");
    await form.getByText("not the zip of an account").waitFor();
    await form.getByLabel("Zip file").setInputFiles(archive);
    await form.getByRole("button", { name: "Import" }).press("Enter");
    await form.getByText("Imported: 2. Already here: 0. Failed: 0.").waitFor();
    await assertAccessible(other);
    await screenshot(other, "import");
    await other.goto("/@bob");
    assert.equal(await other.locator(".tile").count(), 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

browserTest("an import is cancelled, and goes on when the zip is sent again", async ({ service, open, join }) => {
  const [ada, bob] = [await join("ada"), await join("bob")];
  const large = await photo(0, { size: [2400, 1800] });
  const count = 40;
  for (let number = 0; number < count; number++) await ada.post(large);
  const session = { headers: { authorization: `Bearer ${ada.token}` } };
  await fetch(`${service.base}/me/export`, { ...session, method: "POST" });
  const buffer = Buffer.from(await (await fetch(`${service.base}/me/export`, session)).arrayBuffer());
  const page = await open({ as: bob });
  await page.goto("/settings");
  const form = page.getByRole("region", { name: "Your data" });
  const cancel = form.getByRole("button", { name: "Cancel the import" });
  const send = async () => {
    await form.getByLabel("Zip file").setInputFiles({ name: "ada.zip", mimeType: "application/zip", buffer });
    await form.getByRole("button", { name: "Import", exact: true }).press("Enter");
    await cancel.waitFor();
  };
  assert.equal(await cancel.isVisible(), false);
  await send();
  await screenshot(page, "import-running", { immediately: true });
  await cancel.click();
  const outcome = form.getByText("Cancelled. Imported:");
  await outcome.waitFor();
  await cancel.waitFor({ state: "hidden" });
  const imported = Number(/Imported: (\d+)/.exec((await outcome.textContent()) ?? "")?.[1]);
  assert.ok(imported < count, `${imported}`);
  await screenshot(page, "import-cancelled");
  await send();
  await form.getByText(/^Imported: \d+\. Already here: \d+\. Failed: 0\.$/).waitFor({ timeout: 60_000 });
  await page.goto("/@bob");
  await page.getByText(`${count} photos`).waitFor();
});
