// Entry module of a post's own page.

import "./lightbox.js";
import "./like.js";
import "./likers.js";
import "./post-menu.js";
import { showAgain } from "./safety.js";

const shown = /** @type {HTMLElement | null} */ (document.querySelector(".left-out button"));
shown?.addEventListener("click", () => showAgain(shown.dataset.path ?? ""));
