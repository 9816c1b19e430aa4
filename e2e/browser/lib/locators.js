// Locators and actions for the parts of the web client. Labels and selectors occur only here.

import { PASSWORD } from "./api.js";
import { eventually } from "./eventually.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Locator} Locator */

/** @param {Page} page */
export const home = (page) => page.getByRole("link", { name: "Pinhole" }).first();
/** @param {Page} page */
export const posts = (page) => page.getByRole("article");
/** A post's message. @param {Page | Locator} scope @param {string | RegExp} text */
export const message = (scope, text) => scope.locator(".message").filter({ hasText: text });
/** The heading of a profile. @param {Page} page @param {string} username */
export const profileHeading = (page, username) => page.getByRole("heading", { level: 1, name: username, exact: true });
/** @param {Page} page @param {string} message */
export const post = (page, message) => posts(page).filter({ hasText: message });
/** A button; for guests a link to the login page. @param {Locator} post */
export const likeButton = (post) => post.getByRole("button", { name: /^Like/ }).or(post.getByRole("link", { name: /^Like/ }));
/** The number of likes, a button that opens the list of who likes it. @param {Locator} post */
export const likers = (post) => post.getByRole("button", { name: "Who likes it" });
/** @param {Locator} post */
export const menuButton = (post) => post.getByRole("button", { name: "More" });
/** @param {Page} page */
export const toast = (page) => page.getByRole("status").locator(".toast");
/** Waits until a toast says it. @param {Page} page @param {string} text */
export const told = (page, text) => toast(page).filter({ hasText: text }).waitFor();
/** @param {Page} page */
export const dialog = (page) => page.getByRole("dialog");
/** The navigation's link to the own profile. @param {Page} page @param {string} username */
export const profileLink = (page, username) => page.getByRole("link", { name: username, exact: true }).first();

/** Opens the menu of another user's profile, and chooses an entry. @param {Page} page @param {string} item */
export async function chooseFromProfileMenu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.locator("#profile-menu").getByRole("button", { name: item }).click();
}

/** Waits until the service worker controls the page. @param {Page} page */
export async function waitForServiceWorker(page) {
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await eventually("the service worker controls the page", async () => {
    if (await page.evaluate(() => Boolean(navigator.serviceWorker.controller))) return true;
    await page.reload();
    return false;
  });
}

/** @param {Locator} post @param {string} item */
export async function chooseFromMenu(post, item) {
  await menuButton(post).click();
  await dialog(post.page()).getByRole("button", { name: item }).click();
}

/** Opens the menu behind the gear of the own profile. @param {Page} page */
export const openAccountMenu = (page) => page.getByRole("button", { name: "Settings and more" }).click();

/** Submits the auth form. @param {Page} page @param {"Join" | "Log in"} button @param {string} username */
export async function submitCredentials(page, button, username, password = PASSWORD) {
  await page.getByLabel("Username").fill(username);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: button }).click();
}

/** The composer, at `/new`. @param {Page} page */
export const composer = (page) => ({
  files: page.getByLabel("Choose photos"),
  messages: page.getByLabel("Message"),
  descriptions: page.getByLabel("Describe the photo"),
  post: page.getByRole("button", { name: "Post", exact: true }),
  remove: page.getByRole("button", { name: "Remove" }),
  cancel: page.getByRole("button", { name: "Cancel" }),
  retry: page.getByRole("button", { name: "Try again" }),
  progress: page.getByRole("progressbar"),
});

/**
 * Waits until the composer has saved such a draft: what is not saved yet is lost by a reload.
 * @param {Page} page
 * @param {(draft: { message: string, focus?: string }) => boolean} isIt
 */
export async function waitForSavedDraft(page, isIt) {
  await eventually("the draft is saved", async () => (await savedDrafts(page)).some(isIt));
}

/** @param {Page} page @returns {Promise<{ message: string, focus?: string }[]>} */
function savedDrafts(page) {
  return page.evaluate(() => new Promise((resolve, reject) => {
    const opening = indexedDB.open("pinhole", 1);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const reading = opening.result.transaction("drafts").objectStore("drafts").getAll();
      reading.onerror = () => reject(reading.error);
      reading.onsuccess = () => {
        opening.result.close();
        resolve(reading.result.map(({ message, focus }) => ({ message, focus })));
      };
    };
  }));
}

/** Waits for a path, with any query. @param {Page} page @param {string} path */
export const waitForPath = (page, path) => page.waitForURL((url) => url.pathname === path);

/** Whether the current user likes the post. @param {Locator} post */
export async function isLiked(post) {
  return (await likeButton(post).getAttribute("aria-pressed")) === "true";
}

/** Dispatches the events of a drop or a paste. */
export async function dropOrPaste(/** @type {Page} */ page, /** @type {"drop" | "paste"} */ how, /** @type {{ name: string, mimeType: string, buffer: Buffer }[]} */ ...files) {
  await page.evaluate(({ how, files }) => {
    const data = new DataTransfer();
    for (const { name, mimeType, base64 } of files) {
      data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name, { type: mimeType }));
    }
    const options = { bubbles: true, cancelable: true };
    if (how === "paste") {
      document.body.dispatchEvent(new ClipboardEvent("paste", { ...options, clipboardData: data }));
    } else {
      for (const type of ["dragenter", "dragover", "drop"]) document.querySelector("main")?.dispatchEvent(new DragEvent(type, { ...options, dataTransfer: data }));
    }
  }, { how, files: files.map(({ name, mimeType, buffer }) => ({ name, mimeType, base64: buffer.toString("base64") })) });
}
