// One's own page: the profile photo, and the way out.

import { Failure, call } from "./api.js";
import { face } from "./card.js";
import { forgetPages } from "./kept.js";
import { toast } from "./toast.js";
import { say } from "./words.js";

const input = /** @type {HTMLInputElement | null} */ (document.getElementById("profile-photo"));
const clear = /** @type {HTMLButtonElement | null} */ (document.getElementById("profile-clear"));
const logout = document.getElementById("logout");

/** @param {() => Promise<void>} work */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    toast(error instanceof Failure ? error.message : say("failed", { reason: String(error) }));
  }
}

/** @param {string} [photo] */
function show(photo) {
  const me = document.body.dataset.me ?? "";
  const large = /** @type {HTMLElement} */ (document.getElementById("face"));
  face(large, me, photo, 128);
  const image = large.querySelector("img");
  if (image) image.alt = say("profile_photo", { name: me });
  face(/** @type {HTMLElement} */ (document.querySelector(".nav .face")), me, photo);
  if (clear) clear.hidden = !photo;
}

input?.addEventListener("change", () =>
  attempt(async () => {
    const file = input.files?.[0];
    if (!file) return;
    const form = new FormData();
    form.append("photo", file, file.name);
    input.value = "";
    const { body } = await call("PUT", "/me/photo", form);
    show(body.photo.id);
    toast(say("photo_changed"));
  }),
);

clear?.addEventListener("click", () =>
  attempt(async () => {
    await call("DELETE", "/me/photo");
    show();
    toast(say("photo_removed"));
    input?.focus();
  }),
);

logout?.addEventListener("click", () =>
  attempt(async () => {
    await call("POST", "/logout");
    await forgetPages();
    location.assign("/");
  }),
);
