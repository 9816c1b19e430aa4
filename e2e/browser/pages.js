// The page table: every page of the web client. The suites iterate over it.

import { message, profileHeading } from "./lib/locators.js";

/** @typedef {import("./lib/seed.js").SeedData} SeedData */

/**
 * @typedef {object} PageEntry
 * @property {string} name also the name of its screenshots
 * @property {(data: SeedData) => string | Promise<string>} path
 * @property {(page: import("playwright-core").Page) => import("playwright-core").Locator} shows
 *   an element that only this page has
 * @property {"ada" | "bob"} [as] whose session
 * @property {number} [status] of the response, 200 by default
 * @property {boolean} [empty] whether the service has no posts
 * @property {boolean} [lighthouse] whether Lighthouse audits it
 */

/** @type {PageEntry[]} */
export const pages = [
  { name: "feed", path: () => "/", shows: (page) => page.getByText("First light over the harbour").first(), lighthouse: true },
  { name: "feed-empty", path: () => "/", shows: (page) => page.getByText("No photos yet"), empty: true },
  { name: "feed-signed-in", path: () => "/", as: "ada", shows: (page) => page.getByRole("link", { name: "New photo" }) },
  { name: "feed-columns", path: () => "/?view=columns", as: "ada", shows: (page) => page.getByRole("link", { name: "Columns" }).or(page.getByRole("link", { name: "Grid" })).first() },
  { name: "feed-grid", path: () => "/?view=grid", shows: (page) => page.getByRole("link", { name: "Grid" }) },
  { name: "feed-older", path: older, shows: (page) => page.getByRole("article").first() },
  { name: "post", path: ({ posts }) => `/p/${posts[0].id}`, shows: (page) => message(page, "First light over the harbour"), lighthouse: true },
  { name: "post-own", path: ({ posts }) => `/p/${posts[0].id}`, as: "ada", shows: (page) => page.getByRole("button", { name: "More" }) },
  { name: "profile", path: () => "/@ada", shows: (page) => profileHeading(page, "ada"), lighthouse: true },
  { name: "profile-own", path: () => "/@ada", as: "ada", shows: (page) => page.getByRole("button", { name: "Settings and more" }) },
  { name: "profile-other", path: () => "/@ada", as: "bob", shows: (page) => page.getByRole("button", { name: "More" }) },
  { name: "profile-long-name", path: ({ bob }) => `/@${encodeURIComponent(bob.username)}`, shows: (page) => page.getByRole("heading", { level: 1, name: /bob_with/ }) },
  { name: "profile-empty", path: () => "/@ada", as: "ada", shows: (page) => page.getByText("You have not posted anything yet."), empty: true },
  { name: "tag", path: () => "/tags/morgenr%C3%B6te", shows: (page) => page.getByRole("heading", { level: 1, name: "#morgenröte" }) },
  { name: "tag-empty", path: () => "/tags/none", shows: (page) => page.getByText("There are no photos with #none yet."), empty: true },
  { name: "join", path: () => "/join", shows: (page) => page.getByRole("button", { name: "Join" }) },
  { name: "login", path: () => "/login", shows: (page) => page.getByRole("button", { name: "Log in" }) },
  { name: "recovery", path: () => "/recovery", shows: (page) => page.getByLabel("Recovery code") },
  { name: "settings", path: () => "/settings", as: "ada", shows: (page) => page.getByRole("heading", { name: "Where you are logged in" }) },
  { name: "admin", path: () => "/admin", as: "ada", shows: (page) => page.getByText("This is an advertisement.") },
  { name: "about", path: () => "/about", shows: (page) => page.getByText("Everyone can join.") },
  { name: "new", path: () => "/new", as: "ada", shows: (page) => page.getByLabel("Choose photos") },
  { name: "error", path: () => "/p/123456789", status: 404, shows: (page) => page.getByRole("heading", { name: "Nothing here" }) },
  { name: "offline", path: () => "/offline", shows: (page) => page.getByRole("heading", { name: "The server cannot be reached" }) },
];

/** The second page of the feed. @param {SeedData} data */
async function older({ base }) {
  const response = /** @type {{ paging: { next: string } }} */ (await (await fetch(`${base}/feed?limit=20`)).json());
  return `/?after=${new URL(response.paging.next).searchParams.get("after")}`;
}
