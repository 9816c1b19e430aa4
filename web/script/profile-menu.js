// The menu of a profile: share, report, block and unblock.

import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { block, blockPath, report, showAgain } from "./safety.js";
import { copy, share } from "./share.js";
import { toastOnNextPage } from "./toast.js";

const menu = /** @type {HTMLElement} */ (document.querySelector(".profile .menu"));
const name = menu.dataset.user ?? "";

/** @type {Record<string, () => unknown>} */
const ACTIONS = {
  share: () => ("share" in navigator ? share : copy)(location.origin + location.pathname),
  report: () => report(`/users/${encodeURIComponent(name)}`),
  block: () =>
    block(name, async () => {
      await clearPages();
      toastOnNextPage(t("blocked_toast", { name }), blockPath(name));
      location.reload();
    }),
  unblock: () => showAgain(blockPath(name)),
};

for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main [data-action]"))) {
  const { action = "", copyLabel } = button.dataset;
  if (copyLabel && !("share" in navigator)) button.textContent = copyLabel;
  button.addEventListener("click", () => {
    menu.hidePopover();
    ACTIONS[action]();
  });
}
