// Sharing a link by the system, or by the clipboard.

import { t } from "./i18n.js";
import { toast } from "./toast.js";

// Copying the link is all that a browser without a share sheet can do.
if (!("share" in navigator)) document.body.classList.add("no-share");

/** @param {string} url */
export async function copy(url) {
  try {
    await navigator.clipboard.writeText(url);
    toast(t("link_copied"));
  } catch {
    toast(t("copy_manually", { link: url }));
  }
}

/** @param {string} url */
export function share(url) {
  // It rejects when the system's share sheet is dismissed, which is no error.
  navigator.share({ url }).catch(() => undefined);
}
