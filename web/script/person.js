// The page of a person: their photos, and for themselves the way to change their own.

import "./list.js";
import "./profile.js";
