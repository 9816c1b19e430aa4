// Entry module of the page of a tag: infinite scroll.

import "./infinite-scroll.js";
