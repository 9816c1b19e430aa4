// The feed: a list that goes on, with posts one can like and change.

import "./like.js";
import "./list.js";
import "./menu.js";
