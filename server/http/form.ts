/** Step 3: a multipart form, read as it comes and bounded; its files go to the spool. */

import { GatewayError } from "../lib/gateway-error.ts";
import { freeBuffer } from "../lib/spill-buffer.ts";
import type { TempAccount, TempStorage } from "../lib/temp-storage.ts";
import type { Form } from "../request/http-types.ts";
import { decodeFields, type TextPart } from "./form-charset.ts";
import { boundaryOf, charsetOf, type FormPart, readParts } from "./multipart.ts";
import { type BodyContext, checkEncoding, type IncomingBody, readChunks } from "./read-body.ts";
import { type SpooledFile, type SpoolLimits, spool } from "./spool.ts";

export interface FormLimits extends SpoolLimits {
  readonly maxFormBytes: number;
  readonly storage: TempStorage;
}

/** 16 pictures, a mask and a little room. */
const maxFiles = 24;
const maxFields = 128;
/** Of a text field, and of all of them together: they are held in memory. */
const maxFieldBytes = 1024 * 1024;

export async function readForm(
  arriving: IncomingBody,
  limits: FormLimits,
  reception: BodyContext,
  keyId: string,
): Promise<Form> {
  // Before any of it is spooled: inside a compressed form there is nothing to find.
  checkEncoding(arriving.headers);
  const account = limits.storage.account(keyId, "upload");
  // Before the body is read: a client that waits for `100 Continue` has not sent any of it then.
  reserve(account, arriving, limits);
  const texts: TextPart[] = [];
  const files: SpooledFile[] = [];
  let textBytes = 0;
  const dispose = async (): Promise<void> => {
    await Promise.all(files.map((file) => file.dispose()));
  };
  const body = new ReleasedChunks(readChunks(arriving, limits.maxFormBytes, reception));
  try {
    const boundary = boundaryOf(arriving.headers.get("content-type") ?? "");
    for await (const part of readParts(body.chunks(), boundary)) {
      if (isFile(part)) {
        if (files.length >= maxFiles) throw tooMany("files");
        const file = await spool(part, limits, account);
        // A browser sends a file field that was left empty with no name and no bytes: the field was not given.
        if (part.filename || file.part.size > 0) files.push(file);
      } else {
        if (texts.length >= maxFields) throw tooMany("fields");
        const bytes = await readText(part, maxFieldBytes - textBytes);
        textBytes += bytes.length;
        const charset = part.type === undefined ? undefined : charsetOf(part.type);
        texts.push({ name: part.name, charset, bytes });
      }
    }
    await body.drain();
    return { fields: decodeFields(texts), files: files.map(({ part }) => part), dispose };
  } catch (error) {
    await dispose();
    throw error;
  } finally {
    account.cancelReservation();
  }
}

/** A form without an announced length takes its room piece by piece. A small one stays in memory. */
function reserve(account: TempAccount, { headers }: IncomingBody, limits: FormLimits): void {
  const announced = Number(headers.get("content-length") ?? 0);
  // Refused for its size by whoever reads it.
  if (announced > limits.maxFormBytes) return;
  if (announced > limits.memoryBytes) account.reserve(announced);
}

/** A file without a name is still a file when it says what type it is. */
const isFile = ({ filename, type }: FormPart): boolean =>
  filename !== undefined || type === "application/octet-stream" || !!type?.startsWith("image/");

async function readText({ name, body }: FormPart, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > maxBytes) {
      throw new GatewayError(
        "request_too_large",
        `The form field '${name}' is too large: all text fields of a form together may have ${maxFieldBytes} bytes.`,
        { param: name },
      );
    }
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

/** The chunks of a body, gone when they have passed. */
class ReleasedChunks {
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /**
   * The memory of what has passed goes back at once: left to the garbage collector, eight large uploads would hold
   * 150 MB of it. Several chunks may lie in one stretch of memory, one behind the other; the next stretch ends it.
   */
  async *chunks(): AsyncGenerator<Uint8Array> {
    let shared: ArrayBufferLike | undefined;
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (shared && shared !== value?.buffer) freeBuffer(shared);
      if (done) return;
      const { buffer, length } = value;
      yield value;
      shared = buffer;
      if (length === buffer.byteLength) {
        freeBuffer(buffer);
        shared = undefined;
      }
    }
  }

  /** What comes after the closing boundary means nothing, but must come in before the answer goes out. */
  async drain(): Promise<void> {
    for await (const _ of this.chunks()) {
      // Nothing to keep.
    }
  }
}

const tooMany = (what: string): GatewayError =>
  new GatewayError("request_too_large", `The multipart form has too many ${what}.`);
