// Every page there is. The suites go through this table; a new page is one line more.

import { message, person } from "./lib/client.js";

/** @typedef {import("./lib/scene.js").Scene} Scene */

/**
 * @typedef {object} Entry
 * @property {string} name also of its screenshots
 * @property {(scene: Scene) => string | Promise<string>} path
 * @property {(page: import("playwright-core").Page) => import("playwright-core").Locator} shows what only this page has, to be sure that it is the one
 * @property {"ada" | "bob"} [as] whose session
 * @property {number} [status] of the answer, 200 unless said otherwise
 * @property {boolean} [empty] in a service without any photo
 * @property {boolean} [lighthouse] whether it is held against Lighthouse too
 */

/** @type {Entry[]} */
export const pages = [
  { name: "feed", path: () => "/", shows: (page) => page.getByText("First light over the harbour").first(), lighthouse: true },
  { name: "feed-empty", path: () => "/", shows: (page) => page.getByText("No photos yet"), empty: true },
  { name: "feed-signed-in", path: () => "/", as: "ada", shows: (page) => page.getByRole("link", { name: "New photo" }) },
  { name: "feed-older", path: older, shows: (page) => page.getByRole("article").first() },
  { name: "post", path: ({ posts }) => `/p/${posts[0].id}`, shows: (page) => message(page, "First light over the harbour"), lighthouse: true },
  { name: "post-own", path: ({ posts }) => `/p/${posts[0].id}`, as: "ada", shows: (page) => page.getByRole("button", { name: "More" }) },
  { name: "person", path: () => "/@ada", shows: (page) => person(page, "ada"), lighthouse: true },
  { name: "person-own", path: () => "/@ada", as: "ada", shows: (page) => page.getByRole("button", { name: "Log out" }) },
  { name: "person-long", path: ({ bob }) => `/@${encodeURIComponent(bob.username)}`, shows: (page) => page.getByRole("heading", { level: 1, name: /bob_with/ }) },
  { name: "person-empty", path: () => "/@ada", as: "ada", shows: (page) => page.getByText("You have not posted anything yet."), empty: true },
  { name: "join", path: () => "/join", shows: (page) => page.getByRole("button", { name: "Join" }) },
  { name: "login", path: () => "/login", shows: (page) => page.getByRole("button", { name: "Log in" }) },
  { name: "new", path: () => "/new", as: "ada", shows: (page) => page.getByLabel("Choose photos") },
  { name: "error", path: () => "/p/123456789", status: 404, shows: (page) => page.getByRole("heading", { name: "Nothing here" }) },
  { name: "offline", path: () => "/offline", shows: (page) => page.getByRole("heading", { name: "You are offline" }) },
];

/** The second page, where the API says it begins. @param {Scene} scene */
async function older({ base }) {
  const answer = /** @type {{ paging: { next: string } }} */ (await (await fetch(`${base}/feed?limit=20`)).json());
  return `/?after=${new URL(answer.paging.next).searchParams.get("after")}`;
}
