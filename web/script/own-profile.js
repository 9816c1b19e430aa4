// The controls of the current user's own profile: profile photo and logout.

import { call } from "./api.js";
import { renderAvatar } from "./avatar.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { photoRefusal } from "./photo-file.js";
import { confirm } from "./sheet.js";
import { attempt, toast } from "./toast.js";
import { send } from "./upload.js";

const input = /** @type {HTMLInputElement | null} */ (document.getElementById("profile-photo"));
const remove = /** @type {HTMLButtonElement | null} */ (document.getElementById("profile-photo-remove"));
const logout = document.getElementById("logout");

/** @param {string} [photo] */
function showPhoto(photo) {
  const me = document.body.dataset.me ?? "";
  const large = /** @type {HTMLElement} */ (document.getElementById("profile-avatar"));
  renderAvatar(large, me, photo, 160);
  const image = large.querySelector("img");
  if (image) image.alt = t("profile_photo", { name: me });
  renderAvatar(/** @type {HTMLElement} */ (document.querySelector(".nav .avatar")), me, photo);
  if (remove) remove.hidden = !photo;
}

input?.addEventListener("change", () =>
  attempt(async () => {
    const file = input.files?.[0];
    if (!file) return;
    const form = new FormData();
    form.append("photo", file, file.name);
    input.value = "";
    const refused = await photoRefusal(file, file.name);
    if (refused) return toast(refused);
    const bar = /** @type {HTMLProgressElement} */ (document.getElementById("profile-photo-progress"));
    bar.hidden = false;
    try {
      const { response } = await send("PUT", "/me/photo", form, {}, (percent) => (bar.value = percent));
      showPhoto(response.photo.id);
    } finally {
      bar.hidden = true;
    }
    toast(t("photo_changed"));
  }),
);

remove?.addEventListener("click", () => {
  const question = { title: t("photo_remove_title"), text: t("photo_remove_text"), label: t("photo_remove_submit") };
  confirm(question, async () => {
    await call("DELETE", "/me/photo");
    showPhoto();
    toast(t("photo_removed"));
    return () => input?.focus();
  });
});

logout?.addEventListener("click", () =>
  attempt(async () => {
    await call("POST", "/logout");
    await clearPages();
    location.assign("/");
  }),
);
