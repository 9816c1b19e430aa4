// The menu of a profile: share, report, block and unblock.

import { call } from "./api.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { block, blockPath, report } from "./safety.js";
import { copy, share } from "./share.js";
import { attempt, toastOnNextPage } from "./toast.js";

const menu = /** @type {HTMLElement} */ (document.querySelector(".profile .menu"));
const name = menu.dataset.user ?? "";

/** Shows the profile as it is now. @param {string} text @param {string} [undo] */
async function reload(text, undo) {
  await clearPages();
  toastOnNextPage(text, undo);
  location.reload();
}

/** @type {Record<string, () => unknown>} */
const ACTIONS = {
  share: () => ("share" in navigator ? share : copy)(location.origin + location.pathname),
  report: () => report(`/users/${encodeURIComponent(name)}`),
  block: () => block(name, () => reload(t("blocked_toast", { name }), blockPath(name))),
  unblock: () =>
    attempt(async () => {
      await call("DELETE", blockPath(name));
      await reload(t("unblocked_toast"));
    }),
};

for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main [data-action]"))) {
  const { action = "", copyLabel } = button.dataset;
  if (copyLabel && !("share" in navigator)) button.textContent = copyLabel;
  button.addEventListener("click", () => {
    menu.hidePopover();
    ACTIONS[action]();
  });
}
