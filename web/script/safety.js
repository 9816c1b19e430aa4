// Reporting and blocking, from the menus of posts and profiles, and taking back what lists leave out.

import { ApiError, call } from "./api.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { confirm, openSheet } from "./sheet.js";
import { attempt, toast, toastOnNextPage } from "./toast.js";

/** @param {string} name */
export const blockPath = (name) => `/me/blocks/${encodeURIComponent(name)}`;

/** @param {string} path of the post or the user */
export function report(path) {
  /** @type {HTMLFormElement} */ (document.querySelector("#report form")).reset();
  openSheet("report", async (form) => {
    const reason = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("reason")).value;
    if (!reason.trim()) throw new ApiError(t("reason_missing"), 0);
    await call("POST", `${path}/reports`, { reason });
    toast(t("reported_toast"));
  });
}

/** @param {string} name @param {() => import("./sheet.js").Outcome} done */
export function block(name, done) {
  const question = { title: t("block_title", { name }), text: t("block_text", { name }), label: t("block_submit") };
  confirm(question, async () => {
    await call("PUT", blockPath(name));
    return done();
  });
}

/** Shows in lists again what they leave out. @param {string} path of the block or the hidden post */
export function showAgain(path) {
  return attempt(async () => {
    await call("DELETE", path);
    await clearPages();
    toastOnNextPage(t(path.startsWith("/me/blocks/") ? "unblocked_toast" : "shown_toast"));
    location.reload();
  });
}
