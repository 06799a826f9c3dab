/** What arrived: the record a test looks at, and the only thing the endpoints of the fake read. */

import type { Mischief } from "./mischief.ts";
import { readMultipart } from "./multipart.ts";
import { type Picture, sniff } from "./sniff.ts";

export interface Part {
  readonly field: string;
  readonly filename?: string;
  readonly type?: string;
  readonly size: number;
  readonly sha256: string;
  /** Of parts without a filename. */
  readonly value?: string;
  /** Of parts with a filename, when the bytes are a picture. */
  readonly picture?: Picture;
}

export interface RecordedRequest {
  /** The `x-request-id` of the answer. */
  readonly id: string;
  /** The same number for requests that shared a connection. */
  readonly connection: number;
  readonly method: string;
  /** With the query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `performance.now()` */
  readonly startedAt: number;
  endedAt?: number;
  /** Length of the body as it came. */
  bytes: number;
  json?: unknown;
  form?: readonly Part[];
  mischief?: Mischief | undefined;
  /** The status that was meant to be sent, even when the connection broke before. */
  status?: number;
  /** The other side hung up before the whole answer was out. */
  aborted: boolean;
}

export const newRecord = (request: Request, connection: number): RecordedRequest => {
  const { pathname, search } = new URL(request.url);
  return {
    id: `req_${crypto.randomUUID().replaceAll("-", "")}`,
    connection,
    method: request.method,
    path: pathname + search,
    headers: Object.fromEntries(request.headers),
    startedAt: performance.now(),
    bytes: 0,
    aborted: false,
  };
};

/** Fills in the body. A body that cannot be read leaves `json` and `form` absent; broken forms throw. */
export async function readBody(request: Request, record: RecordedRequest): Promise<void> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  record.bytes = bytes.length;
  const type = record.headers["content-type"] ?? "";
  if (/^multipart\/form-data/i.test(type)) {
    record.form = readMultipart(bytes, type).map(({ bytes: content, ...head }) => {
      const picture = head.filename === undefined ? undefined : sniff(content);
      return {
        ...head,
        size: content.length,
        sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex"),
        ...(head.filename === undefined && { value: new TextDecoder().decode(content) }),
        ...(picture && { picture }),
      };
    });
    return;
  }
  try {
    record.json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Stays absent; the endpoint refuses it in OpenAI's words.
  }
}
