/** A recorded request: tests inspect it, and the endpoints of the fake upstream read nothing else. */

import { type ImageInfo, sniff } from "./image-info.ts";
import type { InjectedFault } from "./injected-fault.ts";
import { readMultipart } from "./multipart.ts";

export interface Part {
  readonly field: string;
  readonly filename?: string;
  readonly type?: string;
  readonly size: number;
  readonly sha256: string;
  /** Of parts without a filename. */
  readonly value?: string;
  /** Of parts with a filename, if the bytes are an image. */
  readonly image?: ImageInfo;
}

export interface RecordedRequest {
  /** The `x-request-id` of the response. */
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
  /** Length of the received body. */
  bytes: number;
  json?: unknown;
  form?: readonly Part[];
  fault?: InjectedFault | undefined;
  /** The intended status, even if the connection broke before it was sent. */
  status?: number;
  /** The client disconnected before the whole response was sent. */
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
      const image = head.filename === undefined ? undefined : sniff(content);
      return {
        ...head,
        size: content.length,
        sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex"),
        ...(head.filename === undefined && { value: new TextDecoder().decode(content) }),
        ...(image && { image }),
      };
    });
    return;
  }
  try {
    record.json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Stays absent; the endpoint rejects it with OpenAI's message.
  }
}
