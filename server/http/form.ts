/**
 * Reads a multipart form as a stream, within the body size limit and the upload limits (files, fields, bytes); large
 * files are spilled to disk.
 */

import { type BorrowedBytes, joinCopies } from "../lib/borrowed-bytes.ts";
import { GrowingBytes, lendEach } from "../lib/byte-memory.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { sniffImage, sniffLength } from "../lib/sniff-image.ts";
import type { FilePart, Form, FormPart, MultipartField } from "../request/http-types.ts";
import type { MemoryBudget } from "../temp-storage/request-temp.ts";
import type { TempAccount, TempStorage } from "../temp-storage/temp-storage.ts";
import { UnlinkedTempFile } from "../temp-storage/unlinked-temp-file.ts";
import { boundaryOf, charsetOf, readParts } from "./multipart.ts";
import { type BodyContext, checkEncoding, type IncomingBody, readBodyChunks } from "./read-body.ts";

export interface FormLimits extends UploadLimits {
  readonly maxFormBytes: number;
  readonly storage: TempStorage;
}

/** A file of up to this size stays in memory, while the memory budget allows it. */
const maxMemoryFileBytes = 4 * 1024 * 1024;
/** A smaller form reserves no temp storage. */
const smallFormBytes = 256 * 1024;
/** OpenAI's maximum of 16 images, a mask, and some spare. */
const maxFiles = 24;
const maxFields = 128;
/** Maximum size of all text fields together: they are held in memory. */
const maxFieldBytes = 1024 * 1024;

export async function readForm(
  incoming: IncomingBody,
  limits: FormLimits,
  context: BodyContext,
  keyId: string,
): Promise<Form> {
  // Checked before any part is stored: a compressed form has no readable parts.
  checkEncoding(incoming.headers);
  const account = limits.storage.account(keyId, "upload");
  // Reserved before the body is read: a client that waits for `100 Continue` has not sent any of the body yet.
  reserve(account, incoming, limits);
  const texts: TextPart[] = [];
  const files: StoredUpload[] = [];
  let textBytes = 0;
  const addFile = async (part: FormPart): Promise<void> => {
    if (files.length >= maxFiles) throw tooMany("files", maxFiles);
    // The first file is mostly the largest, or the only one.
    const expected = files.length === 0 ? announcedBytes(incoming) : 0;
    const file = await storeUpload(part, limits, account, expected);
    // A browser sends an empty file field with no name and no bytes: the parameter is absent.
    if (part.filename || file.part.size > 0) files.push(file);
  };
  const addText = async (part: FormPart): Promise<void> => {
    if (texts.length >= maxFields) throw tooMany("fields", maxFields);
    const bytes = await readText(part, maxFieldBytes - textBytes);
    textBytes += bytes.length;
    const charset = part.type === undefined ? undefined : charsetOf(part.type);
    texts.push({ name: part.name, charset, bytes });
  };
  const dispose = async (): Promise<void> => {
    await Promise.all(files.map((file) => file.dispose()));
  };
  const body = lendEach(
    readBodyChunks(incoming, limits.maxFormBytes, context, "VEXEL_MAX_UPLOAD_BYTES"),
  );
  try {
    const boundary = boundaryOf(incoming.headers.get("content-type") ?? "");
    for await (const part of readParts(body, boundary)) {
      await (isFile(part) ? addFile(part) : addText(part));
    }
    for await (const _ of body) {
      // Bytes after the closing boundary are ignored. They must arrive before the response is sent.
    }
    return { fields: decodeFields(texts), files: files.map(({ part }) => part), dispose };
  } catch (error) {
    await dispose();
    throw error;
  } finally {
    account.cancelReservation();
  }
}

/** The parts of a form while they arrive: nothing is stored. Every part must be read to its end. */
export async function* readFormParts(
  incoming: IncomingBody,
  maxBytes: number,
  context: BodyContext,
): AsyncGenerator<FormPart> {
  checkEncoding(incoming.headers);
  const body = lendEach(readBodyChunks(incoming, maxBytes, context));
  yield* readParts(body, boundaryOf(incoming.headers.get("content-type") ?? ""));
  for await (const _ of body) {
    // Bytes after the closing boundary are ignored. They must arrive before the response is sent.
  }
}

/**
 * Reserves temp storage for the announced length. Without one, storage is reserved chunk by chunk. A small form stays
 * in memory.
 */
function reserve(account: TempAccount, { headers }: IncomingBody, limits: FormLimits): void {
  const announced = announcedBytes({ headers });
  // readBodyChunks refuses a body above the maximum size.
  if (announced > limits.maxFormBytes) return;
  if (announced > smallFormBytes) account.reserve(announced);
}

/** The content-length. 0 if there is none. */
const announcedBytes = ({ headers }: Pick<IncomingBody, "headers">): number =>
  Number(headers.get("content-length") ?? 0);

/** A part without a file name is a file if its content-type is that of a file. */
const isFile = ({ filename, type }: FormPart): boolean =>
  filename !== undefined || type === "application/octet-stream" || !!type?.startsWith("image/");

async function readText({ name, body }: FormPart, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new GatewayError(
        "request_too_large",
        `The form field '${name}' is too large: all text fields of a form together may have at most ${maxFieldBytes} bytes.`,
        { param: name },
      );
    }
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

const tooMany = (what: string, max: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The multipart form has too many ${what}: at most ${max} are allowed.`,
  );

/** A text field as it was sent. */
interface TextPart {
  readonly name: string;
  /** Of its content-type. */
  readonly charset: string | undefined;
  readonly bytes: Buffer;
}

/** Decodes the text fields of a form: from UTF-8, unless the part names another charset. */
const decodeFields = (parts: readonly TextPart[]): MultipartField[] =>
  parts.map(({ name, charset, bytes }) => ({
    name,
    value: decode(name, bytes, charset || undefined),
  }));

function decode(name: string, bytes: Buffer, charset = "utf-8"): string {
  const decoder = decoderOf(name, charset);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new GatewayError(
      "invalid_form",
      `The form field '${name}' is not valid ${charset.slice(0, 40)}. Send it in UTF-8, or name its charset in the content-type of the part, such as 'text/plain; charset=iso-8859-1'.`,
      { param: name, cause },
    );
  }
}

function decoderOf(name: string, charset: string): TextDecoder {
  // ASCII is a subset of UTF-8. The standard decoder would read it as windows-1252.
  const label = /^(us-)?ascii$/i.test(charset) ? "utf-8" : charset;
  try {
    // A byte order mark at the beginning is not part of the text, and is removed.
    return new TextDecoder(label as Bun.Encoding, { fatal: true });
  } catch (cause) {
    throw new GatewayError(
      "invalid_form",
      `The form field '${name}' has the charset '${charset.slice(0, 40)}', which is not supported. Send it in UTF-8.`,
      { param: name, cause },
    );
  }
}

/** The limits of one uploaded file. */
interface UploadLimits {
  readonly maxFileBytes: number;
  /** Memory for files, of all requests together. */
  readonly memory: MemoryBudget;
  readonly folder: string;
}

interface StoredUpload {
  readonly part: FilePart;
  dispose(): Promise<void>;
}

/**
 * Stores an uploaded file until the request ends: in memory, or in an unlinked temp file if it is large or the memory is
 * used up. Throws GatewayError, also if the API key has used up its share of temp storage. `expectedBytes`: the most
 * bytes that it may have, if they are known.
 */
export async function storeUpload(
  incoming: FormPart,
  limits: UploadLimits,
  account: TempAccount,
  expectedBytes = 0,
): Promise<StoredUpload> {
  const { name, body } = incoming;
  let memory: GrowingBytes | undefined;
  let size = 0;
  let start: Buffer = Buffer.alloc(0);
  let file: UnlinkedTempFile | undefined;
  const releaseMemory = (): void => {
    if (memory) limits.memory.release(memory.length);
    memory?.[Symbol.dispose]();
    memory = undefined;
  };
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > limits.maxFileBytes) throw tooLarge(name, limits.maxFileBytes);
      if (start.length < sniffLength) {
        start = joinCopies([start, chunk.subarray(0, sniffLength)]).subarray(0, sniffLength);
      }
      if (!file && size <= maxMemoryFileBytes && limits.memory.tryTake(chunk.length)) {
        memory ??= new GrowingBytes(Math.min(expectedBytes, maxMemoryFileBytes));
        memory.append(chunk);
        continue;
      }
      file ??= await UnlinkedTempFile.create(limits.folder, account).catch((cause) => {
        throw unwritable(cause);
      });
      if (memory) append(file, memory.bytes);
      releaseMemory();
      append(file, chunk);
    }
  } catch (error) {
    releaseMemory();
    await file?.close();
    throw error;
  }
  const part = { field: name, filename: incoming.filename ?? "", size, type: typeOf(start) };
  if (file) return { part: { ...part, ...fileAccess(file) }, dispose: () => file.close() };
  return {
    part: { ...part, ...memoryAccess(memory?.bytes ?? Buffer.alloc(0)) },
    dispose: async () => releaseMemory(),
  };
}

const typeOf = (start: Uint8Array): string => sniffImage(start) ?? "application/octet-stream";

const memoryAccess = (bytes: Buffer): Pick<FilePart, "inMemory" | "stream" | "bytes"> => ({
  inMemory: bytes,
  stream: async function* () {
    yield bytes;
  },
  bytes: async () => bytes,
});

const fileAccess = (
  file: UnlinkedTempFile,
): Pick<FilePart, "path" | "keepOpen" | "stream" | "bytes"> => ({
  ...(file.path !== undefined && { path: file.path }),
  keepOpen: () => file.keepOpen(),
  stream: () => file.stream(),
  bytes: () => file.bytes(),
});

function append(file: UnlinkedTempFile, bytes: BorrowedBytes): void {
  try {
    file.append(bytes);
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : unwritable(cause);
  }
}

const unwritable = (cause: unknown): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The upload could not be written to disk. Retry in 5 s.",
    {
      cause,
      retryAfterMs: 5000,
    },
  );

const tooLarge = (field: string, maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The file '${field}' is larger than the maximum of ${maxBytes} bytes.`,
    { param: field },
  );
