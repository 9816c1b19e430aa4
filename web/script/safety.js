// Reporting and blocking, from the menus of posts and profiles.

import { ApiError, call } from "./api.js";
import { t } from "./i18n.js";
import { confirm, openSheet } from "./sheet.js";
import { toast } from "./toast.js";

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

/** @param {string} name @param {() => Promise<void>} done */
export function block(name, done) {
  const question = { title: t("block_title", { name }), text: t("block_text", { name }), label: t("block_submit") };
  confirm(question, async () => {
    await call("PUT", blockPath(name));
    await done();
  });
}
