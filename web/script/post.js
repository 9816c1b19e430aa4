// Entry module of a post's own page.

import "./lightbox.js";
import "./like.js";
import "./likers.js";
import "./post-menu.js";
