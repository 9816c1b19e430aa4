// The service worker: the last pages and photos stay readable offline, photos can be shared to us from the phone's
// gallery, and what waits for the network is sent when it is back. Served at /sw.js, the root of what it serves.

import { draft, flush, keep } from "./drafts.js";

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

// The server writes in what this version is made of.
const SHELL = "shell-{version}";
/** @type {string[]} */
const FILES = JSON.parse('{files}');
const OFFLINE = "/offline";
const PAGES = "pages";
const PHOTOS = "photos";
/** How many of each are kept, newest first. */
const KEPT = { [PAGES]: 40, [PHOTOS]: 240 };
/** A network that takes longer is as good as none, if we have something to show. */
const PATIENCE = 4000;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((shell) => shell.addAll([...FILES, OFFLINE])).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  const tidy = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("shell-") && name !== SHELL);
    await Promise.all(old.map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(tidy());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== location.origin) return;
  if (request.method === "POST" && url.pathname === "/share") return event.respondWith(receive(request));
  if (request.method !== "GET") return;
  if (url.pathname.startsWith("/web/")) return event.respondWith(fromShell(request));
  if (url.pathname.startsWith("/photos/")) return event.respondWith(photo(event));
  const page = request.mode === "navigate" && /^\/($|p\/|@|new$|join$|login$)/.test(url.pathname);
  const list = /^\/(feed|users\/[^/]+\/posts)$/.test(url.pathname);
  if (page || list) event.respondWith(latest(event));
});

worker.addEventListener("sync", (event) => {
  const sync = /** @type {ExtendableEvent & { tag: string }} */ (event);
  if (sync.tag === "drafts") sync.waitUntil(sendWaiting());
});

/** And tells the pages that show what waits. */
async function sendWaiting() {
  await flush();
  for (const page of await worker.clients.matchAll()) page.postMessage("flushed");
}

/** @param {Request} request */
async function fromShell(request) {
  return (await caches.match(request)) ?? fetch(request);
}

/** Photos never change, so what we have is right. @param {FetchEvent} event */
async function photo(event) {
  const kept = await caches.match(event.request);
  if (kept) return kept;
  const answer = await fetch(event.request);
  if (answer.ok) event.waitUntil(store(PHOTOS, event.request, answer.clone()));
  return answer;
}

/** From the network if it answers in time; else as it was last seen. @param {FetchEvent} event */
async function latest(event) {
  const { request } = event;
  const fresh = fetch(request).then((answer) => {
    if (answer.ok) event.waitUntil(store(PAGES, request, answer.clone()));
    return answer;
  });
  // The composer is the same whatever brought somebody there.
  const ignoreSearch = new URL(request.url).pathname === "/new";
  const kept = await caches.open(PAGES).then((pages) => pages.match(request, { ignoreVary: true, ignoreSearch }));
  if (!kept) return fresh.catch((error) => offline(request, error));
  const late = new Promise((resolve) => setTimeout(() => resolve(undefined), PATIENCE));
  const first = await Promise.race([fresh, late]).catch(() => undefined);
  return first ?? marked(request, kept);
}

/** A page that may be old says so; `main.js` reads the mark. @param {Request} request @param {Response} kept */
async function marked(request, kept) {
  if (request.mode !== "navigate") return kept;
  const headers = new Headers(kept.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response((await kept.text()).replace("<body", "<body data-kept"), { headers });
}

/** @param {Request} request @param {unknown} error */
async function offline(request, error) {
  const page = request.mode === "navigate" && (await caches.match(OFFLINE, { ignoreVary: true }));
  if (page) return page;
  throw error;
}

/** @param {"pages" | "photos"} name @param {Request} request @param {Response} answer */
async function store(name, request, answer) {
  const cache = await caches.open(name);
  await cache.delete(request, { ignoreVary: true });
  await cache.put(request, answer);
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - KEPT[name])).map((key) => cache.delete(key)));
}

/** What the phone shares becomes drafts. @param {Request} request */
async function receive(request) {
  const form = await request.formData();
  const words = ["title", "text", "url"].map((name) => form.get(name)).filter((word) => typeof word === "string" && word);
  const files = form.getAll("photo").filter((file) => file instanceof File);
  for (const file of files) await keep(draft(file, file.name, "", words.join("\n")));
  return Response.redirect("/new?shared", 303);
}
