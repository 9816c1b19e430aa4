// New posts of the feed: a sign at its top, and own ones at once. While there are none, a poll is answered by 304 without
// a body.

import { renderPost } from "./card.js";
import { t } from "./i18n.js";
import { answered, checkServer } from "./network.js";

const POLL_MS = 60_000;
const LIMIT = 20;

const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("new-posts"));
const list = /** @type {HTMLElement} */ (document.getElementById("post-list"));
const template = /** @type {HTMLTemplateElement} */ (document.getElementById("post-template"));

/** Posts that are newer than the list's first one. @type {import("./api.js").Post[]} */
let fresh = [];

/** The entity tag of the last poll; any tag asks the server for its own. */
let etag = '""';

async function poll() {
  if (document.hidden || !button) return;
  const headers = { accept: "application/json", "if-none-match": etag };
  const response = await fetch(`/feed?limit=${LIMIT}`, { headers }).catch(() => undefined);
  if (!response) return void checkServer();
  answered(response.status, (name) => response.headers.get(name));
  if (!response.ok) return;
  etag = response.headers.get("etag") ?? etag;
  const { data } = /** @type {import("./api.js").FeedPage} */ (await response.json());
  const first = /** @type {HTMLElement | null} */ (list.querySelector("[data-post]"));
  fresh = data.filter((post) => post.id > Number(first?.dataset.post ?? 0));
  if (fresh.length < LIMIT && fresh.some(({ user }) => user.username === document.body.dataset.me)) insert();
  button.hidden = fresh.length === 0;
  const count = fresh.length < LIMIT ? String(fresh.length) : `${LIMIT}+`;
  button.textContent = fresh.length === 1 ? t("new_post") : t("new_posts", { count });
}

function insert() {
  document.querySelector(".empty-state")?.remove();
  list.prepend(...fresh.map((post) => renderPost(template, post)));
  fresh = [];
}

button?.addEventListener("click", () => {
  // With a whole page of them there may be more, and the list would have a gap.
  if (fresh.length >= LIMIT) return location.assign("/");
  insert();
  button.hidden = true;
  scrollTo({ top: 0 });
  /** @type {HTMLElement | null} */ (list.querySelector("[data-post]"))?.focus({ preventScroll: true });
});

// An older page has no top that new posts belong to.
if (button && !new URLSearchParams(location.search).has("after")) {
  setInterval(poll, POLL_MS);
  document.addEventListener("visibilitychange", poll);
  document.addEventListener("pinhole:poll", poll);
  document.addEventListener("pinhole:reconnected", poll);
}
