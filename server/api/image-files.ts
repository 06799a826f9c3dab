/** GET /pictures/{name}: pictures that were asked for as links. The link is the secret: signed, and it expires. */

import type { Handler } from "../http/listen.ts";
import { type ByteRange, rangeOf } from "../http/range.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { refuse } from "../request/error-response.ts";
import type { Incoming, Outgoing } from "../request/http-types.ts";

export interface PictureShelf {
  find(name: string): Promise<Shelved | undefined>;
}

export interface Shelved {
  readonly type: string;
  readonly size: number;
  readonly content: Blob;
}

export interface PicturesOptions {
  readonly shelf: PictureShelf;
  /** When a link expires, in Unix seconds, if it is one of ours and has not. */
  readonly check: (name: string, search: string) => number | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const createPictures =
  ({ shelf, check, now }: PicturesOptions): Handler =>
  async (incoming, name): Promise<Outgoing> => {
    const expires = check(name, incoming.search);
    const found = expires === undefined ? undefined : await shelf.find(name);
    if (expires === undefined || !found) throw gone();
    const leftSeconds = Math.max(0, Math.floor(expires - now() / 1000));
    const tag = `"${name.replace(/\..*/, "")}"`;
    const told = {
      etag: tag,
      "cache-control": `private, max-age=${leftSeconds}, immutable`,
      // An SVG opened by itself could otherwise run scripts in our name.
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      "x-content-type-options": "nosniff",
    };
    if (isKnown(incoming, tag)) return { status: 304, headers: told, body: "" };
    const range = askedRange(incoming, tag, found.size);
    if (range === "beyond") return beyond(found.size);
    const { content, size, type } = found;
    return {
      status: range ? 206 : 200,
      headers: {
        ...told,
        "content-type": type,
        "content-disposition": `inline; filename="picture-${name.slice(0, 8)}${name.slice(name.indexOf("."))}"`,
        "accept-ranges": "bytes",
        ...(range && { "content-range": `bytes ${range.from}-${range.to}/${size}` }),
      },
      body: range ? content.slice(range.from, range.to + 1) : content,
    };
  };

/** A browser that has it already need not get it again. */
function isKnown({ headers }: Incoming, tag: string): boolean {
  const known = headers.get("if-none-match");
  if (known === null) return false;
  return known.split(",").some((one) => ["*", tag].includes(one.trim().replace(/^W\//, "")));
}

/** Only GET has parts. A part of something else than what the caller has the rest of would be of no use to it. */
function askedRange(
  { method, headers }: Incoming,
  tag: string,
  size: number,
): ByteRange | "beyond" | undefined {
  const range = headers.get("range");
  const of = headers.get("if-range");
  if (method !== "GET" || range === null || (of !== null && of !== tag)) return undefined;
  return rangeOf(range, size);
}

function beyond(size: number): Outgoing {
  const { status, headers, body } = refuse(
    new GatewayError("invalid_value", `There is nothing there: the picture has ${size} bytes.`, {
      param: "range",
      as: { status: 416 },
    }),
  );
  return { status, headers: { ...headers, "content-range": `bytes */${size}` }, body };
}

const gone = (): GatewayError =>
  new GatewayError("unknown_url", "There is no such picture, or it has expired.");
