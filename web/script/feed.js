// Entry module of the feed: infinite scroll, likes, new posts, and the post menu.

import "./infinite-scroll.js";
import "./like.js";
import "./likers.js";
import "./new-posts.js";
import "./post-list.js";
import "./post-menu.js";
