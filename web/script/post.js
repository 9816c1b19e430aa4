// The page of one post.

import "./like.js";
import "./menu.js";
