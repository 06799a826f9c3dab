/** Step 3: a body, read once and bounded; as JSON, or as it comes for a form. */
import { GatewayError } from "../std/gateway-error.ts";
import type { Patience } from "./patience.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A body up to this length must be there at once; of a larger one, there must be progress. */
export const smallBytes = 64 * 1024;

/** No call has any use for more. Printing what is nested tens of thousands deep would overflow the stack. */
const maxDepth = 128;

/** How a body is taken in: how long to wait for more of it, and who counts what came. */
export interface Reception {
  readonly patience: Patience;
  count(bytes: number): void;
}

/** A body that is small comes in one piece and is taken in one step: most calls have such, and each step costs. */
export function readJson(
  request: Request,
  maxBytes: number,
  reception: Reception,
): Promise<unknown> {
  checkType(request.headers.get("content-type"));
  const announced = announcedBytes(request.headers);
  if (!(announced <= Math.min(smallBytes, maxBytes))) {
    return readLarge(request, maxBytes, reception);
  }
  const take = (bytes: Uint8Array): unknown => {
    reception.count(bytes.length);
    return read(bytes, request.headers);
  };
  return reception.patience.wait(request.bytes(), take, cutShort);
}

async function readLarge(
  request: Request,
  maxBytes: number,
  reception: Reception,
): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readChunks(request, maxBytes, reception)) pieces.push(piece);
  return read(Buffer.concat(pieces), request.headers);
}

function read(bytes: Uint8Array, headers: Headers): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    checkEncoding(headers);
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.", { cause });
  }
  const value = parse(text, headers);
  if (mayBeDeep(text) && isDeep(value)) {
    throw new GatewayError("invalid_json", `The body is nested more than ${maxDepth} levels deep.`);
  }
  return value;
}

function parse(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    checkEncoding(headers);
    throw new GatewayError(
      "invalid_json",
      `We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The gateway expects a JSON payload, but what was sent was not valid JSON${text === "" ? ": the body was empty" : ""}.)`,
      { cause },
    );
  }
}

/** No type at all is taken for JSON, as the clients of the first days sent none. */
function checkType(type: string | null): void {
  if (type === null || /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path only accepts 'application/json' requests. Please try again with a supported content type.`,
  );
}

/** Looked at only where a body cannot be read: a compressed one never is JSON, and most calls need not pay for the look. */
export function checkEncoding(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || /^\s*(identity\s*)?$/i.test(encoding)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content encoding: '${encoding.slice(0, 100)}'. The body must be sent uncompressed, without the header 'content-encoding'. Please switch off the compression of requests in your HTTP library.`,
  );
}

/** What has few brackets is not deep; that much can be seen without looking at the value. */
function mayBeDeep(text: string): boolean {
  let brackets = 0;
  for (const sign of ["[", "{"]) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
      if (++brackets > maxDepth) return true;
    }
  }
  return false;
}

function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const below: unknown[] = [];
    for (const parent of level) {
      if (typeof parent !== "object" || parent === null) continue;
      const children: readonly unknown[] = Array.isArray(parent) ? parent : Object.values(parent);
      for (const child of children) if (typeof child === "object") below.push(child);
    }
    level = below;
  }
  return false;
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The body is larger than the ${maxBytes} bytes that are allowed here.`,
  );

/** The length that was announced; NaN where none was. */
export const announcedBytes = (headers: Headers): number =>
  Number(headers.get("content-length") ?? Number.NaN);

/** The body as it comes, bounded. Whoever stops early leaves the rest to Bun, which passes over it. */
export async function* readChunks(
  request: Request,
  maxBytes: number,
  reception: Reception,
): AsyncGenerator<Uint8Array> {
  if (announcedBytes(request.headers) > maxBytes) throw tooLarge(maxBytes);
  // Not `for await`: that would cancel the body of a call that is about to be refused.
  const body: AsyncIterable<Uint8Array> | null = request.body;
  const chunks = body?.[Symbol.asyncIterator]();
  let length = 0;
  while (chunks) {
    const { done, value } = await reception.patience.wait(chunks.next(), itself, cutShort);
    if (done) return;
    length += value.length;
    reception.count(value.length);
    if (length > maxBytes) throw tooLarge(maxBytes);
    yield value;
  }
}

const itself = <T>(value: T): T => value;

const cutShort = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError("incomplete_body", "The body ended before it was complete.", {
        cause: error,
      });
