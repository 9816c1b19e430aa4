// Which files are photos: told by their first bytes, as the server does, since a name and a media type may be wrong.

import { t } from "./i18n.js";

/** JPEG, PNG, GIF, WebP, and the brands of AVIF and HEIC, in the first box of the file. */
const SIGNATURE = /^(\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF[^]{4}WEBP|[^]{4}ftyp([^]{4})*?(avi[fs]|he[iv][cmsx]|mif[12]|msf1))/;
const BRANDS_END = 280;

/**
 * Why a file cannot be a photo, as a sentence; empty if it can.
 * @param {Blob} file
 * @param {string} name
 */
export async function photoRefusal(file, name) {
  if (!file.size) return t("empty_file", { name });
  // A folder cannot be read, so it is no photo either.
  const start = await file.slice(0, BRANDS_END).arrayBuffer().catch(() => new ArrayBuffer(0));
  return SIGNATURE.test(String.fromCharCode(...new Uint8Array(start))) ? "" : t("not_an_image", { name });
}
