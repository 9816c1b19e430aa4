// How this browser wants to see pages. Cookies, because the server renders them; `pages/preferences.rs` reads them.

import { clearPages, refreshOfflinePage } from "./offline-cache.js";

const YEAR_SECONDS = 31_536_000;

/**
 * @param {"theme" | "language" | "introduced"} name
 * @param {string} value empty for the default
 */
export async function setPreference(name, value) {
  const age = value ? YEAR_SECONDS : 0;
  document.cookie = `pinhole_${name}=${value}; path=/; max-age=${age}; samesite=lax`;
  await clearPages();
  await refreshOfflinePage();
}
