// Entry module of a profile: infinite scroll, its menu, and the owner's controls.

import "./infinite-scroll.js";
import "./own-profile.js";
import "./post-list.js";
import "./profile-menu.js";
