// A list of posts that goes on while one scrolls, and is where it was when one comes back.

import { Failure, call } from "./api.js";
import { fill } from "./card.js";
import { say } from "./words.js";

const list = /** @type {HTMLElement} */ (document.getElementById("list"));
const blank = /** @type {HTMLTemplateElement} */ (document.getElementById("blank"));
const older = /** @type {HTMLElement} */ (document.getElementById("older"));
const PLACE = "pinhole-place:";

let next = list.dataset.next ?? "";
/** @type {Promise<void> | undefined} */
let loading;

/**
 * One more page; whoever asks while it comes waits for the same one.
 * @param {number} [limit]
 */
function load(limit) {
  loading ??= page(limit).finally(() => (loading = undefined));
  return loading;
}

/** @param {number} [limit] */
async function page(limit) {
  const from = new URL(next, location.href);
  if (limit) from.searchParams.set("limit", String(limit));
  note(say("loading"));
  try {
    const { body } = await call("GET", from.pathname + from.search);
    const { data, paging } = /** @type {import("./api.js").FeedPage} */ (body);
    const seen = new Set(posts().map((post) => post.dataset.post));
    list.append(...data.filter((post) => !seen.has(String(post.id))).map((post) => fill(blank, post)));
    // The link names the public address; this page stays where it was opened.
    next = paging.next ? new URL(paging.next).pathname + new URL(paging.next).search : "";
    note(next ? "" : say("end"));
  } catch (error) {
    const reason = error instanceof Failure ? error.message : String(error);
    const again = document.createElement("button");
    again.className = "quiet";
    again.textContent = say("try_again");
    again.addEventListener("click", () => load().then(watch));
    note(say("feed_failed", { reason }), again);
    watcher.disconnect();
    throw error;
  }
}

/**
 * @param {string} text
 * @param {Node} [more]
 */
function note(text, more) {
  older.replaceChildren(text, ...(more ? [document.createElement("br"), more] : []));
  // Keeps its room while empty, so that it can be watched.
  older.classList.add("live");
}

const watcher = new IntersectionObserver(
  async (entries) => {
    if (!next || !entries.some((entry) => entry.isIntersecting)) return;
    await load().catch(() => undefined);
    watch();
  },
  { rootMargin: "1200px" },
);

/** Observing anew reports at once whether the end is in sight. */
function watch() {
  watcher.disconnect();
  if (next && !older.querySelector("button")) watcher.observe(older);
}

function posts() {
  return /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-post]")]);
}

/** Notes the post at the top of the screen, and how far down it is. */
function keepPlace() {
  const top = posts().find((post) => post.getBoundingClientRect().bottom > 0);
  const key = history.state?.place;
  if (!key || !top) return;
  const place = { post: Number(top.dataset.post), top: top.getBoundingClientRect().top };
  sessionStorage.setItem(PLACE + key, JSON.stringify(scrollY > 0 ? place : null));
}

async function findPlace() {
  // Whoever follows a link wants the newest, even if the browser takes it for the page that was here before.
  const [how] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  if (how?.type === "navigate") return;
  const place = JSON.parse(sessionStorage.getItem(PLACE + history.state.place) ?? "null");
  if (!place) return;
  const reached = () => posts().find((post) => Number(post.dataset.post) <= place.post);
  try {
    while (next && !reached()) await load(100);
  } catch {
    return;
  }
  const post = reached();
  if (post) scrollTo({ top: scrollY + post.getBoundingClientRect().top - place.top, behavior: "instant" });
}

history.scrollRestoration = "manual";
if (!history.state?.place) {
  const place = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
  history.replaceState({ ...history.state, place }, "");
}
addEventListener("pagehide", keepPlace);
if (next) note("");
findPlace().finally(watch);
