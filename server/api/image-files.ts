/**
 * GET /files/images/{name}: serves stored images by signed URL, with ETag and byte ranges. The URL itself grants
 * access, and it expires.
 */
import type { Handler } from "../http/route.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { readWithin } from "../lib/timers.ts";
import { toErrorResponse } from "../request/error-response.ts";
import type {
  IncomingRequest,
  OutgoingResponse,
  StreamedResponseBody,
} from "../request/http-types.ts";
import { openBody } from "../request/open-body.ts";

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
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The longest time between two chunks of the store. */
  readonly stallMs?: number;
}

export const createImageFiles =
  ({ store, check, now, stallMs = 30_000 }: ImageFilesOptions): Handler<"name"> =>
  async (incoming, { name }) => {
    const expires = check(name, incoming.search);
    const found = expires === undefined ? undefined : await store.find(name);
    if (expires === undefined || !found) throw notFound();
    const leftSeconds = Math.max(0, Math.floor(expires - now() / 1000));
    const tag = `"${name.replace(/\..*/, "")}"`;
    const common = {
      etag: tag,
      "cache-control": `private, max-age=${leftSeconds}, immutable`,
      // An SVG opened as a document could otherwise run scripts in the gateway's origin.
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      "x-content-type-options": "nosniff",
    };
    if (isNotModified(incoming, tag)) return { status: 304, headers: common, body: "" };
    const range = requestedRange(incoming, tag, found.size);
    if (range === "unsatisfiable") return rangeNotSatisfiable(found.size);
    const { size, type } = found;
    const body = bodyOf(found, range, stallMs);
    return {
      status: range ? 206 : 200,
      headers: {
        ...common,
        "content-type": type,
        "content-disposition": `inline; filename="image-${name.slice(name.indexOf(".") - 8)}"`,
        "accept-ranges": "bytes",
        ...(range && { "content-range": `bytes ${range.from}-${range.to}/${size}` }),
      },
      body: incoming.method === "HEAD" ? body : await openBody(body),
    };
  };

function bodyOf(
  { content, size }: StoredImageFile,
  range: ByteRange | undefined,
  stallMs: number,
): StreamedResponseBody {
  const part = range ? content.slice(range.from, range.to + 1) : content;
  return {
    length: range ? range.to + 1 - range.from : size,
    open: () => readWithin(part.stream(), stallMs),
    close: async () => undefined,
  };
}

/** If-None-Match: the client already has this image. */
function isNotModified({ headers }: IncomingRequest, tag: string): boolean {
  const tags = headers.get("if-none-match");
  if (tags === null) return false;
  return tags
    .split(",")
    .some((candidate) => ["*", tag].includes(candidate.trim().replace(/^W\//, "")));
}

/**
 * Ranges apply to GET only. If-Range with another tag: the client holds part of another image, so it gets this one
 * whole.
 */
function requestedRange(
  { method, headers }: IncomingRequest,
  tag: string,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const range = headers.get("range");
  const ifRange = headers.get("if-range");
  if (method !== "GET" || range === null || (ifRange !== null && ifRange !== tag)) return undefined;
  return parseRange(range, size);
}

function rangeNotSatisfiable(size: number): OutgoingResponse {
  const { status, headers, body } = toErrorResponse(
    new GatewayError(
      "invalid_value",
      `The range starts beyond the end: the image has ${size} bytes.`,
      {
        param: "range",
        overrides: { status: 416 },
      },
    ),
  );
  return { status, headers: { ...headers, "content-range": `bytes */${size}` }, body };
}

const notFound = (): GatewayError =>
  new GatewayError("unknown_url", "This image does not exist, or its link has expired.");

/** Both ends are inclusive. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Range request: parses the `Range` header, one range of bytes. Several ranges and invalid values are ignored, as RFC
 * 9110 allows. `unsatisfiable`: it starts beyond the end. Undefined: the whole content is sent.
 */
function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    // A suffix: the last bytes.
    const bytes = Math.min(Number(last), size);
    return bytes === 0 ? "unsatisfiable" : { from: size - bytes, to: size - 1 };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Number(last);
  if (to < from && last !== "") return undefined;
  return from >= size ? "unsatisfiable" : { from, to: Math.min(to, size - 1) };
}
