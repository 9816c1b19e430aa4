// The web client as people name its parts. Stories say what somebody does; the names on the screen are here, once.

import { PASSWORD } from "./api.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Locator} Locator */

/** @param {Page} page */
export const home = (page) => page.getByRole("link", { name: "Pinhole" }).first();
/** @param {Page} page */
export const posts = (page) => page.getByRole("article");
/** What is written below a photo. @param {Page | Locator} where @param {string | RegExp} text */
export const message = (where, text) => where.locator(".message").filter({ hasText: text });
/** The name above somebody's photos. @param {Page} page @param {string} username */
export const person = (page, username) => page.getByRole("heading", { level: 1, name: username, exact: true });
/** @param {Page} page @param {string} message */
export const post = (page, message) => posts(page).filter({ hasText: message });
/** For guests it is a link to the way in. @param {Locator} post */
export const likeButton = (post) => post.getByRole("button", { name: /^Like/ }).or(post.getByRole("link", { name: /^Like/ }));
/** @param {Locator} post */
export const more = (post) => post.getByRole("button", { name: "More" });
/** @param {Page} page what the client says in passing */
export const toast = (page) => page.getByRole("status").locator(".toast");
/** @param {Page} page */
export const dialog = (page) => page.getByRole("dialog");
/** @param {Page} page the link to the own profile @param {string} username */
export const ownName = (page, username) => page.getByRole("link", { name: username, exact: true }).first();

/** Opens the menu of a post and chooses from it. @param {Locator} post @param {"Edit" | "Delete" | "Copy link"} what */
export async function choose(post, what) {
  await more(post).click();
  await dialog(post.page()).getByRole("button", { name: what }).click();
}

/** Fills the form that both pages have. @param {Page} page @param {"Join" | "Log in"} button @param {string} username */
export async function enter(page, button, username, password = PASSWORD) {
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
  again: page.getByRole("button", { name: "Try again" }),
  progress: page.getByRole("progressbar"),
});

/** Waits until the browser is there, whatever follows the path. @param {Page} page @param {string} path */
export const at = (page, path) => page.waitForURL((url) => url.pathname === path);

/** Whether the person who looks likes it. @param {Locator} post */
export async function liked(post) {
  return (await likeButton(post).getAttribute("aria-pressed")) === "true";
}
