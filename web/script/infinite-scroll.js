// Infinite scroll: loads the next page of posts before the end of the list comes into view, and restores the
// scroll position on back navigation and reload.

import { messageOf } from "./api.js";
import { t } from "./i18n.js";
import { loadPosts, postOf } from "./part.js";

const list = /** @type {HTMLElement} */ (document.getElementById("post-list"));
const pagination = /** @type {HTMLElement} */ (document.getElementById("pagination"));
const STORAGE_PREFIX = "pinhole-scroll:";
/** Posts that are loaded at a time: of tiles a multiple of their three columns. */
const PAGE_SIZE = list.dataset.list === "tile" ? 30 : 20;

let next = list.dataset.next ?? "";
/** @type {Promise<void> | undefined} */
let loading;

/**
 * Loads the next page; concurrent calls share one request.
 * @param {number} [limit]
 */
function loadMore(limit = PAGE_SIZE) {
  loading ??= loadPage(limit).finally(() => (loading = undefined));
  return loading;
}

/** @param {number} limit */
async function loadPage(limit) {
  showStatus(t("loading"));
  try {
    const loaded = await loadPosts(next, limit);
    const seen = new Set(posts().map((post) => post.dataset.post));
    list.append(...loaded.posts.filter((child) => !seen.has(postOf(child).dataset.post)));
    next = loaded.next;
    showStatus(next ? "" : t("end"));
  } catch (error) {
    const reason = messageOf(error);
    const retry = document.createElement("button");
    retry.className = "secondary";
    retry.textContent = t("try_again");
    retry.addEventListener("click", () => loadMore().then(observeEnd));
    showStatus(t("feed_failed", { reason }), retry);
    observer.disconnect();
    throw error;
  }
}

/**
 * @param {string} text
 * @param {Node} [button]
 */
function showStatus(text, button) {
  pagination.replaceChildren(text, ...(button ? [document.createElement("br"), button] : []));
  // Reserves the height while empty: an element without a size never intersects.
  pagination.classList.add("observed");
}

const observer = new IntersectionObserver(
  async (entries) => {
    if (!next || !entries.some((entry) => entry.isIntersecting)) return;
    await loadMore().catch(() => undefined);
    observeEnd();
  },
  { rootMargin: "1200px" },
);

/** Observing again reports the current intersection at once, so a short page triggers the next load. */
function observeEnd() {
  observer.disconnect();
  if (next && !pagination.querySelector("button")) observer.observe(pagination);
}

function posts() {
  return /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-post]")]);
}

/** Saves the topmost visible post and its offset, under the key of this history entry. */
function saveScrollPosition() {
  const top = posts().find((post) => post.getBoundingClientRect().bottom > 0);
  const key = history.state?.scroll;
  if (!key || !top) return;
  const position = { post: Number(top.dataset.post), top: top.getBoundingClientRect().top };
  sessionStorage.setItem(STORAGE_PREFIX + key, JSON.stringify(scrollY > 0 ? position : null));
}

async function restoreScrollPosition() {
  // Only after back, forward and reload: a followed link opens the feed at the top, even when the browser
  // reuses the history entry.
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  if (navigation?.type === "navigate") return;
  const position = JSON.parse(sessionStorage.getItem(STORAGE_PREFIX + history.state.scroll) ?? "null");
  if (!position) return;
  // The feed is ordered by descending id; the post itself may have been deleted.
  const reached = () => posts().find((post) => Number(post.dataset.post) <= position.post);
  try {
    while (next && !reached()) await loadMore(100);
  } catch {
    return;
  }
  const post = reached();
  // Cards above it get their height when they come near the window; not every browser anchors the scroll position then.
  for (let frame = 0; post && frame < 4; frame++) {
    scrollTo({ top: scrollY + post.getBoundingClientRect().top - position.top, behavior: "instant" });
    await new Promise(requestAnimationFrame);
  }
}

history.scrollRestoration = "manual";
if (!history.state?.scroll) {
  const scroll = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
  history.replaceState({ ...history.state, scroll }, "");
}
addEventListener("pagehide", saveScrollPosition);
if (next) showStatus("");
restoreScrollPosition().finally(observeEnd);
