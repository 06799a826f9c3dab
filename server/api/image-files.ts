/**
 * GET /files/images/{name}: serves stored images by signed URL, with ETag and byte ranges. The URL itself grants
 * access, and it expires.
 */
import type { Handler } from "../http/route.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { commaList } from "../lib/comma-list.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import { sendStored } from "./send-stored.ts";

interface ImageFileStore {
  find(name: string): Promise<StoredImageFile | undefined>;
}

interface StoredImageFile {
  readonly type: string;
  readonly size: number;
  /** Read when it is sent. */
  readonly content: Pick<Blob, "stream" | "slice">;
}

interface ImageFilesOptions {
  readonly store: ImageFileStore;
  /** The link's expiry in Unix seconds; undefined if its signature is not valid or it has expired. */
  readonly check: (name: string, search: string) => number | undefined;
  readonly turns: ByteTurns;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The longest time between two chunks of the store. */
  readonly stallMs?: number;
}

export const createImageFiles =
  ({ store, check, turns, now, stallMs = 30_000 }: ImageFilesOptions): Handler<"name"> =>
  async (incoming, { name }) => {
    const expires = check(name, incoming.search);
    const found = expires === undefined ? undefined : await store.find(name);
    if (expires === undefined || !found) throw notFound();
    const leftSeconds = Math.max(0, Math.floor(expires - now() / 1000));
    const tag = `"${name.replace(/\..*/, "")}"`;
    const common = {
      "cache-control": `private, max-age=${leftSeconds}, immutable`,
      // An SVG opened as a document could otherwise run scripts in the gateway's origin.
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      "x-content-type-options": "nosniff",
    };
    if (isNotModified(incoming, tag)) {
      return { status: 304, headers: { ...common, etag: tag }, body: "" };
    }
    const { size, type, content } = found;
    const headers = {
      ...common,
      "content-type": type,
      "content-disposition": `inline; filename="image-${name.slice(name.indexOf(".") - 8)}"`,
    };
    const read = (from?: number, to?: number) =>
      (from === undefined ? content : content.slice(from, to)).stream();
    const turnKey = incoming.clientAddress;
    return sendStored(incoming, { size, read }, { headers, tag, turns, turnKey, stallMs });
  };

/** If-None-Match: the client already has this image. */
function isNotModified({ headers }: IncomingRequest, tag: string): boolean {
  const tags = commaList(headers.get("if-none-match") ?? "");
  return tags.some((candidate) => ["*", tag].includes(candidate.replace(/^W\//, "")));
}

const notFound = (): GatewayError =>
  new GatewayError("unknown_url", "This image does not exist, or its link has expired.");
