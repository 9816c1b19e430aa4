// Entry module of the feed: infinite scroll, likes, and the post menu.

import "./infinite-scroll.js";
import "./like.js";
import "./post-menu.js";
