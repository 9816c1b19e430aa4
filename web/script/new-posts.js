// New posts of the feed: a sign at its top, and own ones at once. While there are none, a poll is answered by 304 without
// a body.

import { t } from "./i18n.js";
import { answered, checkServer } from "./network.js";
import { loadPosts, postOf } from "./part.js";
import { attempt } from "./toast.js";

const POLL_MS = 60_000;
const LIMIT = 20;

const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("new-posts"));
const list = /** @type {HTMLElement} */ (document.getElementById("post-list"));

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
  fresh = data.filter((post) => post.id > newest());
  if (fresh.length < LIMIT && fresh.some(({ user }) => user.username === document.body.dataset.me)) await insert();
  button.hidden = fresh.length === 0;
  const count = fresh.length < LIMIT ? String(fresh.length) : `${LIMIT}+`;
  button.textContent = fresh.length === 1 ? t("new_post") : t("new_posts", { count });
}

/** The id of the list's first post. */
function newest() {
  const first = /** @type {HTMLElement | null} */ (list.querySelector("[data-post]"));
  return Number(first?.dataset.post ?? 0);
}

async function insert() {
  const { posts } = await loadPosts("/", LIMIT);
  document.querySelector(".empty-state")?.remove();
  list.prepend(...posts.filter((post) => Number(postOf(post).dataset.post) > newest()));
  fresh = [];
}

button?.addEventListener("click", () => {
  // With a whole page of them there may be more, and the list would have a gap.
  if (fresh.length >= LIMIT) return location.assign("/");
  attempt(async () => {
    await insert();
    button.hidden = true;
    scrollTo({ top: 0 });
    /** @type {HTMLElement | null} */ (list.querySelector("[data-post]"))?.focus({ preventScroll: true });
  });
});

// An older page has no top that new posts belong to.
if (button && !new URLSearchParams(location.search).has("after")) {
  setInterval(poll, POLL_MS);
  document.addEventListener("visibilitychange", poll);
  document.addEventListener("pinhole:poll", poll);
  document.addEventListener("pinhole:reconnected", poll);
}
