// A session through openapi-fetch and the types of openapi-typescript, which tell what a client may leave out.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import createClient from "openapi-fetch";

import type { paths } from "./paths.js";

const [, , baseUrl, photoFile] = process.argv;
assert(baseUrl && photoFile, "usage: fetch.js BASE_URL PHOTO");

const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };

function multipart(body: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, value instanceof Blob ? value : String(value));
  return form;
}

const anonymous = createClient<paths>({ baseUrl });
const account = { username: `fetch-${process.pid}`, password: "correct horse" };
const joined = await anonymous.POST("/join/username", { body: account, headers: urlencoded });
assert.equal(joined.data?.username, account.username);
const token = joined.response.headers.get("x-auth-token");
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

// The generator has no type for binary data.
const photo = new Blob([await readFile(photoFile)]) as unknown as string;
const header = { "Idempotency-Key": account.username };
const created = await client.POST("/posts", { params: { header }, body: { photo }, bodySerializer: multipart });
assert(created.data && created.data.message === undefined, created.error?.error.message);
const again = await client.POST("/posts", { params: { header }, body: { photo }, bodySerializer: multipart });
assert.equal(again.data?.id, created.data.id);
const changed = { photo, message: "another", focus: "0.25,1", share_original: true };
const other = await client.POST("/posts", { params: { header }, body: changed, bodySerializer: multipart });
assert.equal(other.response.status, 422);
assert.equal(other.error?.error.field, "Idempotency-Key");

// In pieces, of which each says where it begins.
const started = await client.POST("/posts", {
  params: { header: { "Upload-Complete": "?0" } },
  headers: { "Content-Type": "multipart/form-data; boundary=b" },
  body: { photo },
  bodySerializer: () => "",
});
const upload_id = started.response.headers.get("location")?.split("/").pop();
assert(upload_id, `an upload, not ${started.response.status}`);
const part = '--b\r\nContent-Disposition: form-data; name="photo"\r\n\r\n';
const form = new Blob([part, await readFile(photoFile), "\r\n--b--\r\n"]);
const path = { upload_id };
const bytes = (body: string) => body;
const headers = { "Content-Type": "application/partial-upload" };
for (const [start, end] of [[0, 100], [100, form.size]] as const) {
  const stored = await client.PATCH("/uploads/{upload_id}", {
    params: { path, header: { "Upload-Offset": start, "Upload-Complete": end < form.size ? "?0" : "?1" } },
    headers,
    body: form.slice(start, end) as unknown as string,
    bodySerializer: bytes,
  });
  assert.equal(stored.response.status, end < form.size ? 204 : 201, stored.error?.error.message);
}
// @ts-expect-error Both headers are required.
const refused = await client.PATCH("/uploads/{upload_id}", { params: { path }, headers, body: "", bodySerializer: bytes });
assert.equal(refused.response.status, 400);

const { data: page } = await client.GET("/users/{username}/posts", { params: { path: { username: account.username } } });
assert.equal(page?.data.length, 2);
const left = await client.DELETE("/me", { body: { password: account.password }, headers: urlencoded });
assert.equal(left.response.status, 200);

console.log("openapi-fetch: join, upload, retry, upload in pieces and leave work");
