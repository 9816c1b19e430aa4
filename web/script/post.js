// Entry module of a post's own page.

import "./like.js";
import "./post-menu.js";
