// The service worker: serves pages and photos from the offline cache, receives photos from the system's share
// sheet, and posts queued drafts by Background Sync. Served at /sw.js, so that its scope is the whole site.

import { flushQueue, newDraft, saveDraft } from "./drafts.js";

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

// The server fills in the asset version and the URLs of its files.
const SHELL = "shell-{version}";
/** @type {string[]} */
const FILES = JSON.parse('{files}');
const OFFLINE = "offline";
const PAGES = "pages";
const PHOTOS = "photos";
/** The most entries per cache; the oldest are evicted. */
const MAX_ENTRIES = { [PAGES]: 40, [PHOTOS]: 240 };
/** A cached page is served when the network takes longer. */
const NETWORK_TIMEOUT_MS = 4000;
const DAY_MS = 86_400_000;

worker.addEventListener("install", (event) => {
  const shell = caches.open(SHELL).then((shell) => shell.addAll(FILES));
  const offline = caches.open(OFFLINE).then((pages) => pages.add("/offline"));
  event.waitUntil(Promise.all([shell, offline]).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  const deleteOldShells = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("shell-") && name !== SHELL);
    await Promise.all(old.map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(deleteOldShells());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== location.origin) return;
  if (url.pathname === "/share") return event.respondWith(request.method === "POST" ? receiveShare(request) : checkShare(request));
  // A download takes longer than a service worker may live.
  if (request.method !== "GET" || url.pathname === "/me/export") return;
  const isPage = request.mode === "navigate";
  const isKept = isPage ? /^\/($|p\/|@|tags\/|(about|new|join|login)$)/ : url.searchParams.has("part") ? /^\/($|@|tags\/)/ : /^\/feed$/;
  let response;
  if (/^\/(web\/|logo\/|accent\.css$)/.test(url.pathname)) response = fromShell(request);
  else if (url.pathname.startsWith("/photos/")) response = cacheFirst(event);
  else if (isKept.test(url.pathname)) response = networkFirst(event);
  else if (isPage) response = fromServer(request);
  if (response) event.respondWith(isPage ? response.catch(offlinePage) : response);
  if (isPage) event.waitUntil(refreshOfflinePage());
});

worker.addEventListener("sync", (event) => {
  const sync = /** @type {ExtendableEvent & { tag: string }} */ (event);
  if (sync.tag === "drafts") sync.waitUntil(postQueuedDrafts());
});

async function postQueuedDrafts() {
  await flushQueue();
  // An open composer removes the posted drafts from its list.
  for (const page of await worker.clients.matchAll()) page.postMessage("flushed");
}

/** Fails also if only a proxy answers, because the server behind it does not. @param {Request} request */
async function fromServer(request) {
  const response = await fetch(request);
  const { status, headers } = response;
  if (status >= 502 && status <= 504 && !headers.has("x-request-id")) throw new TypeError(`a proxy answers ${status}`);
  return response;
}

/** @param {Request} request */
async function fromShell(request) {
  return (await caches.match(request)) ?? fromServer(request);
}

/**
 * For photos: a photo's URL always has the same content. Until its AVIF is encoded, the image is not `immutable`; then
 * the cached one is for when the network fails.
 * @param {FetchEvent} event
 */
async function cacheFirst(event) {
  const cached = await caches.match(event.request);
  if (cached?.headers.get("cache-control")?.includes("immutable")) return cached;
  const response = await fromServer(event.request).catch((error) => {
    if (cached) return cached;
    throw error;
  });
  // Only some users see a hidden photo or an original.
  const isShared = response.headers.get("cache-control")?.includes("public");
  if (response.ok && isShared) event.waitUntil(store(PHOTOS, event.request, response.clone()));
  return response;
}

/** For pages and feeds: from the cache only if the network fails or is too slow. @param {FetchEvent} event */
async function networkFirst(event) {
  const { request } = event;
  const network = fromServer(request).then((response) => {
    if (response.ok) event.waitUntil(store(PAGES, request, response.clone()));
    return response;
  });
  // The composer ignores its query on the server, so any cached copy matches.
  const ignoreSearch = new URL(request.url).pathname === "/new";
  const cached = await caches.open(PAGES).then((pages) => pages.match(request, { ignoreVary: true, ignoreSearch }));
  if (!cached) return network;
  const timeout = new Promise((resolve) => setTimeout(() => resolve(undefined), NETWORK_TIMEOUT_MS));
  const response = await Promise.race([network, timeout]).catch(() => undefined);
  return response ?? markCached(request, cached);
}

/**
 * Marks a response as stale, for `network.js`: a page by `data-cached` of its body, others by a header.
 * @param {Request} request
 * @param {Response} cached
 */
async function markCached(request, cached) {
  const headers = new Headers(cached.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  headers.set("x-from-cache", "1");
  const text = await cached.text();
  return new Response(request.mode === "navigate" ? text.replace("<body", "<body data-cached") : text, { headers });
}

/** Instead of the browser's error page. @param {unknown} error */
async function offlinePage(error) {
  const page = await caches.match("/offline", { cacheName: OFFLINE, ignoreVary: true });
  if (page) return page;
  throw error;
}

/** Once a day: it has the name and the colours of the instance, which may change. */
async function refreshOfflinePage() {
  const pages = await caches.open(OFFLINE);
  const cached = await pages.match("/offline", { ignoreVary: true });
  const age = Date.now() - Date.parse(cached?.headers.get("date") ?? "");
  // If it fails, the earlier one stays.
  if (!(age < DAY_MS)) await pages.add("/offline").catch(() => undefined);
}

/**
 * @param {"pages" | "photos"} name
 * @param {Request} request
 * @param {Response} response
 */
async function store(name, request, response) {
  const cache = await caches.open(name);
  await cache.delete(request, { ignoreVary: true });
  await cache.put(request, response);
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_ENTRIES[name])).map((key) => cache.delete(key)));
}

/** The share that the server has not checked yet. @type {{ key: string, form: FormData } | undefined} */
let uncheckedShare;

/**
 * Keeps a share until the server has checked where it comes from: a form of another site must not fill the
 * composer, and only the server sees `Sec-Fetch-Site`. The redirect has the same initiator, but no body to upload.
 * @param {Request} request
 */
async function receiveShare(request) {
  const key = crypto.randomUUID();
  uncheckedShare = { key, form: await request.formData() };
  return Response.redirect(`/share?key=${key}`, 303);
}

/** Saves the share as drafts if the server redirects, or cannot be reached. @param {Request} request */
async function checkShare(request) {
  const checked = await fetch(request).catch(() => undefined);
  if (checked && checked.type !== "opaqueredirect") return checked;
  const share = uncheckedShare;
  if (share && share.key === new URL(request.url).searchParams.get("key")) {
    uncheckedShare = undefined;
    await saveShare(share.form);
  }
  return Response.redirect("/new?shared", 303);
}

/** Saves shared photos as drafts; their text becomes the message. @param {FormData} form */
async function saveShare(form) {
  const texts = ["title", "text", "url"].map((name) => form.get(name)).filter((text) => typeof text === "string" && text);
  const files = form.getAll("photo").filter((file) => file instanceof File);
  for (const file of files) await saveDraft(newDraft(file, file.name, "", texts.join("\n")));
}
