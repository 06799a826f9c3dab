/**
 * Builds upstream requests: their URL paths, which a model name cannot leave, their headers (authentication, and the
 * configured headers), and JSON or a form, for embeddings or for images, which are billed per request. The input images
 * of an edit are sent in the form that the vendor takes: files, or strings in its JSON.
 */

import type { BorrowedBytes } from "../../../lib/borrowed-bytes.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import {
  base64Length,
  encodeBase64Stream,
  StreamedString,
  stringifyStreamed,
} from "../../../lib/json-stream.ts";
import { isLongJson, LargeJson } from "../../../lib/large-json.ts";
import { extensionOf } from "../../../lib/sniff-image.ts";
import type { StreamedRequestBody, UpstreamRequest } from "../../adapter.ts";
import type {
  EmbeddingsQuery,
  ExtraFields,
  FilePart,
  ImageSource,
  Target,
  Upstream,
} from "../../contract.ts";

/** Most upstreams take an object, some a list of objects. */
type Body = ExtraFields | readonly ExtraFields[];

/** Longer bodies are serialized when they are sent. */
const largeLength = 256 * 1024;

/** Undefined members are not written, in this request and those below. A large body is serialized when it is sent. */
export const jsonRequest = (url: string, headers: WireHeaders, body: Body): UpstreamRequest => ({
  url,
  headers: { ...headers, "content-type": "application/json" },
  body: isLongJson(body, largeLength) ? new LargeJson(body) : JSON.stringify(body),
});

export const bearerJsonRequest = (url: string, upstream: Upstream, body: Body): UpstreamRequest =>
  jsonRequest(url, bearer(upstream), body);

/** A GET request. */
export const bearerRequest = (url: string, upstream: Upstream): UpstreamRequest => ({
  url,
  headers: bearer(upstream),
});

/** Not idempotent: each copy that reaches the vendor is billed. Streamed, because an image is too large to buffer. */
const paid = { isNonIdempotent: true, streams: true } as const;

/** Files in `body` go from disk to the socket. */
export const imageJsonRequest = (
  url: string,
  headers: WireHeaders,
  body: Body,
): UpstreamRequest => ({ ...streamedJsonRequest(url, headers, body), ...paid });

/** The same for embeddings of images, which are sent again after a failure. */
export const streamedJsonRequest = (
  url: string,
  headers: WireHeaders,
  body: Body,
): UpstreamRequest => ({
  url,
  headers: { ...headers, "content-type": "application/json" },
  body: stringifyStreamed(body),
});

/** `jsonRequest`, or `streamedJsonRequest` for input with images. */
export const jsonRequestFor = ({ input }: EmbeddingsQuery): typeof jsonRequest =>
  input.kind === "mixed" ? streamedJsonRequest : jsonRequest;

export const imageFormRequest = (
  url: string,
  headers: WireHeaders,
  parts: readonly Part[],
): UpstreamRequest => ({ ...formRequest(url, headers, parts), ...paid });

/** The same for embeddings of images, which are sent again after a failure. */
export function formRequest(
  url: string,
  headers: WireHeaders,
  parts: readonly Part[],
): UpstreamRequest {
  const { contentType, body } = writeForm(parts);
  return { url, headers: { ...headers, "content-type": contentType }, body };
}

export type Part =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: FilePart };

/** Form fields as text. Absent fields are left out; a list becomes one field for each entry. */
export const fieldParts = (fields: ExtraFields): readonly Part[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((entry: unknown): Part[] =>
      entry === undefined || entry === null ? [] : [{ name, text: textOf(entry) }],
    ),
  );

/** Form fields are text; other values are written as JSON. */
const textOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** Writes a multipart form: files in memory are sent from there, and others go from disk to the socket. */
function writeForm(parts: readonly Part[]): { contentType: string; body: StreamedRequestBody } {
  const boundary = `vexel-${crypto.randomUUID()}`;
  // The text between two files is one chunk: each takes a system call.
  const pieces: (Uint8Array | FilePart)[] = [];
  let text = "";
  for (const part of parts) {
    text += headOf(part, boundary);
    if ("file" in part) {
      pieces.push(Buffer.from(text), part.file);
      text = "";
    }
    text += "\r\n";
  }
  pieces.push(Buffer.from(`${text}--${boundary}--\r\n`));
  const length = pieces.reduce(
    (sum, piece) => sum + (piece instanceof Uint8Array ? piece.length : piece.size),
    0,
  );
  const chunks = pieces.flatMap((piece) => {
    const bytes = piece instanceof Uint8Array ? piece : piece.inMemory;
    return bytes ? [bytes] : [];
  });
  async function* write(): AsyncGenerator<BorrowedBytes> {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) yield piece;
      else yield* piece.stream();
    }
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: { length, ...(chunks.length === pieces.length && { chunks }), open: write },
  };
}

function headOf(part: Part, boundary: string): string {
  const name = quoted(part.name);
  if (!("file" in part)) {
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${part.text}`;
  }
  const filename = quoted(
    part.file.type.startsWith("image/") ? imageName(part.file) : part.file.filename,
  );
  return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\ncontent-type: ${part.file.type}\r\n\r\n`;
}

/** Some upstreams rely on the file extension, so it must match the type. */
function imageName({ filename, type }: FilePart): string {
  const stem = filename.replace(/\.[^.]*$/, "") || "image";
  return `${stem}.${extensionOf(type)}`;
}

/** Quotes and line breaks as browsers escape them: none may end the header early. No backslash may escape the quote. */
const quoted = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', "%22")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A");

/**
 * Placeholder of a file in a JSON body: its base64, written as a stream, so that a file goes from disk to the socket.
 */
export class FileContent extends StreamedString {
  constructor(file: FilePart, prefix = "") {
    super(base64Length(file.size), () => encodeBase64Stream(file.stream()), { prefix });
  }
}

export const dataUrlOf = (file: FilePart): FileContent =>
  new FileContent(file, `data:${file.type};base64,`);

/** Only for targets whose capabilities require the bytes. */
export function fileOf(source: ImageSource): FilePart {
  if (source.kind === "file") return source.file;
  throw new GatewayError("internal", "A reference was sent to a target that reads files only.");
}

export const filesOf = (sources: readonly ImageSource[]): readonly FilePart[] =>
  sources.map(fileOf);

/** The only image of an edit, for targets that take one. */
export function onlyFile(sources: readonly ImageSource[]): FilePart {
  const [file] = filesOf(sources);
  if (file) return file;
  throw new GatewayError("internal", "An edit request has no image.");
}

/** Base64 without a prefix. */
export const asBase64 = (source: ImageSource): FileContent => new FileContent(fileOf(source));

/** A data URL, or the client's link. */
export const asDataUrl = (source: ImageSource): FileContent | string =>
  source.kind === "url" ? source.url : dataUrlOf(fileOf(source));

export type WireHeaders = Readonly<Record<string, string>>;

/** An upstream of a snapshot never changes, so its headers are put together once. */
const headersByUpstream = new WeakMap<Upstream, WireHeaders>();

/** Configured headers override those of the adapter. */
export function headersOf(
  upstream: Upstream,
  authHeaders: (key: string) => Record<string, string>,
): WireHeaders {
  const cached = headersByUpstream.get(upstream);
  if (cached) return cached;
  const headers = Object.freeze({
    ...(upstream.apiKey !== undefined && authHeaders(upstream.apiKey)),
    ...withLowerCaseNames(upstream.headers),
  });
  headersByUpstream.set(upstream, headers);
  return headers;
}

/** For upstreams that are not sent the API key: it is exchanged for a token, or signs the request. */
export const ownHeaders = (upstream: Upstream): WireHeaders => headersOf(upstream, () => ({}));

/** The API key as a bearer token, as nearly every vendor requires. */
export const bearer = (upstream: Upstream): WireHeaders =>
  headersOf(upstream, (key) => ({ authorization: `Bearer ${key}` }));

/** In lower case, so that a configured header replaces the adapter's instead of being sent next to it. */
const withLowerCaseNames = (headers: Upstream["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

type Path =
  | "embeddings"
  | "images/embeddings"
  | "images/generations"
  | "images/edits"
  | "responses"
  | "moderations";

/** Returns a URL and the authentication headers of an OpenAI-compatible upstream. */
export type EndpointResolver = (
  target: Target,
  path: Path,
) => { readonly url: string; readonly headers: WireHeaders };

/**
 * `{baseUrl}/embeddings` with a bearer token, as at OpenAI. `basePath` is appended to a base URL that does not end with
 * it.
 */
export const openaiEndpoints =
  (defaultBaseUrl: string | undefined, basePath = ""): EndpointResolver =>
  ({ upstream }, path) => {
    const baseUrl = upstream.baseUrl ?? defaultBaseUrl ?? "";
    const missing = baseUrl.endsWith(basePath) ? "" : basePath;
    return { url: `${baseUrl}${missing}/${path}`, headers: bearer(upstream) };
  };

/** A model's name as part of a URL path: slashes stay, path traversal does not. */
export const modelPath = (model: string): string => {
  const steps = model.split("/");
  if (steps.some((step) => /^\.{0,2}$/.test(step))) return encodeURIComponent(`/${model}`);
  // `@cf/…` is not encoded in any of Cloudflare's examples.
  return steps.map((step) => encodeURIComponent(step).replaceAll("%40", "@")).join("/");
};
