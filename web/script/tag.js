// Entry module of the page of a tag: infinite scroll, and the list that the page of a post steps through.

import "./infinite-scroll.js";
import "./post-list.js";
