// A session through the generated client. Its types are part of the test: tsc checks this file first.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { createClient, createConfig } from "./generated/client/index.js";
import * as api from "./generated/index.js";

const [, , baseUrl, photoFile] = process.argv;
assert(baseUrl && photoFile, "usage: session.js BASE_URL PHOTO");

const anonymous = createClient(createConfig({ baseUrl, throwOnError: true }));
const username = `typescript-${process.pid}`;

const joined = await api.join({ client: anonymous, throwOnError: true, body: { username, password: "correct horse" } });
assert.equal(joined.response.status, 201);
assert.equal(joined.data.username, username);
assert.equal(joined.data.photo, null);
const auth = joined.response.headers.get("x-auth-token");
assert(auth, "join returns a token");
const client = createClient(createConfig({ baseUrl, auth, throwOnError: true }));

const loggedIn = await api.login({ client: anonymous, throwOnError: true, body: { username, password: "correct horse" } });
assert.equal(loggedIn.data.id, joined.data.id);
const me = await api.me({ client, throwOnError: true });
assert.equal(me.data.username, username);

const photo = new Blob([await readFile(photoFile)]);
const created = await api.createPost({ client, throwOnError: true, body: { photo, message: "from TypeScript" } });
assert.equal(created.response.status, 201);
assert.equal(created.data.message, "from TypeScript");
const post = { post_id: created.data.id };

const page = await api.feed({ client: anonymous, throwOnError: true, query: { limit: 1 } });
assert.equal(page.data.data[0]?.id, created.data.id);
assert.equal(page.data.data[0]?.is_liked, false);

const liked = await api.like({ client, throwOnError: true, path: post });
assert.equal(liked.response.status, 201);
const again = await api.like({ client, throwOnError: false, path: post });
assert.equal(again.response?.status, 409);
assert.equal(again.error?.error.field, undefined);
const read = await api.getPost({ client, throwOnError: true, path: post });
assert.deepEqual([read.data.is_liked, read.data.like_count], [true, 1]);

const edited = await api.editPost({ client, throwOnError: true, path: post, body: { message: "edited" } });
assert.equal(edited.data.message, "edited");

const path = { photo_id: created.data.photo.id, width: 16, height: 16 };
const image = await api.image({ client: anonymous, throwOnError: true, path });
const bytes: Blob | File = image.data;
assert.equal(bytes.type, "image/jpeg");
assert(bytes.size > 100, `an image of ${bytes.size} bytes`);

const deleted = await api.deletePost({ client, throwOnError: true, path: post });
assert.equal(deleted.response.status, 200);
const gone = await api.getPost({ client, throwOnError: false, path: post });
assert.equal(gone.response?.status, 404);

console.log("TypeScript: join, login, upload, feed, like, edit, image and delete work");
