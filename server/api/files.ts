/** /v1/files: upload, list, get, delete and content. A file belongs to the project of its API key. */
import { z } from "zod";
import { ownerOf } from "../auth/owner.ts";
import type { ClientFiles, ReceivedFile, StoredFile } from "../files/client-files.ts";
import { validate } from "../http/read-body.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import type { BorrowedBytes, BorrowedChunks } from "../lib/borrowed-bytes.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { FormPart, IncomingRequest } from "../request/http-types.ts";
import { createSendList, type ListMemory } from "./send-list.ts";
import { sendStored } from "./send-stored.ts";
import {
  type AuthenticationOptions,
  createCallerOf,
  queryOf,
  showPage,
} from "./stored-requests.ts";

interface FileHandlerOptions extends AuthenticationOptions, ListMemory {
  readonly files: ClientFiles;
  /** The most bytes of one file. */
  readonly maxFileBytes: number;
  /** The most bytes of a file with the purpose `batch`. */
  readonly maxBatchBytes: number;
  /** How long files with the purpose `batch` are kept. 0: forever. */
  readonly batchFileMs: number;
  /** For downloads. */
  readonly turns: ByteTurns;
}

type ReceiveOptions = Omit<
  FileHandlerOptions,
  keyof AuthenticationOptions | keyof ListMemory | "turns"
>;

/** OpenAI's other purposes are for features that the gateway does not have. */
export const filePurposes = ["batch", "vision", "user_data"] as const;

export const expiresAfter = z
  .strictObject({
    anchor: z.literal("created_at"),
    seconds: z.int().min(3600).max(2_592_000),
  })
  .describe("When the file expires: `seconds` after it was created, 3600 to 2592000.");

export const createFileForm = z.strictObject({
  purpose: z.enum(filePurposes).describe("What the file is for."),
  expires_after: expiresAfter.optional(),
});

/** OpenAI's maximum of `limit`. */
const maxLimit = 10_000;
/** A page ends after this many files, with `has_more`, whatever `limit` says. */
export const maxFilesOfPage = 1000;
/** As in most file systems. */
export const maxFilenameLength = 255;
/** Of one file in a list: a name whose characters are all escaped, with the other members. */
const maxListedBytes = maxFilenameLength * 6 + 500;
/** The id of a file, or of the output or errors of a batch. A file that was deleted is still a cursor. */
const fileId = /^file-[0-9a-f]{32}(-\w+)?$/;

const listQuery = z.object({
  purpose: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(maxLimit).default(maxLimit),
  order: z.enum(["asc", "desc"]).default("desc"),
  after: z.string().regex(fileId, "it is not the id of a file").optional(),
});

/** The text fields of the form, together. */
const maxFieldBytes = 64 * 1024;
const maxFields = 16;

export type FileHandlers = Pick<
  Handlers,
  "createFile" | "files" | "file" | "deleteFile" | "fileContent"
>;

export function createFileHandlers(options: FileHandlerOptions): FileHandlers {
  const { files, turns } = options;
  const sendList = createSendList(options);
  const callerOf = createCallerOf(options);
  const ownerOfRequest = (incoming: IncomingRequest): string => ownerOf(callerOf(incoming));
  return {
    createFile: async (incoming) =>
      json(showFile(await receiveFile(incoming, ownerOfRequest(incoming), options))),
    files: async (incoming) => {
      const caller = callerOf(incoming);
      const { limit: given, ...query } = validate(listQuery, queryOf(incoming));
      const limit = Math.min(given, maxFilesOfPage);
      return sendList(incoming, {
        keyId: caller.id,
        maxBytes: limit * maxListedBytes,
        read: async () => {
          const found = await files.list({ owner: ownerOf(caller), ...query, limit: limit + 1 });
          return showPage(found.slice(0, limit).map(showFile), found.length > limit);
        },
      });
    },
    file: async (incoming, { id }) =>
      json(showFile(await files.find(ownerOfRequest(incoming), decodePathSegment(id)))),
    deleteFile: async (incoming, { id: encoded }) => {
      const id = decodePathSegment(encoded);
      await files.remove(ownerOfRequest(incoming), id);
      return json({ id, object: "file", deleted: true });
    },
    fileContent: async (incoming, { id }) => {
      const file = await files.find(ownerOfRequest(incoming), decodePathSegment(id));
      const name = encodeURIComponent(file.filename);
      return sendStored(incoming, await files.content(file), {
        tag: `"${file.id}"`,
        turns,
        turnKey: file.owner,
        headers: {
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename*=UTF-8''${name}`,
          "x-content-type-options": "nosniff",
        },
      });
    },
  };
}

export const showFile = ({ id, bytes, createdAt, expiresAt, filename, purpose }: StoredFile) => ({
  id,
  object: "file",
  bytes,
  created_at: Math.floor(createdAt / 1000),
  ...(expiresAt !== null && { expires_at: Math.floor(expiresAt / 1000) }),
  filename,
  purpose,
  // There is nothing to process. OpenAI's SDKs wait for this status.
  status: "processed",
});

/**
 * Receives the file of a form, and stores it when the whole form is valid. The other fields may come before or after
 * it.
 */
export async function receiveFile(
  incoming: Pick<IncomingRequest, "headers" | "parts">,
  owner: string,
  { files, maxFileBytes, maxBatchBytes, batchFileMs }: ReceiveOptions,
): Promise<StoredFile> {
  const announced = Number(incoming.headers.get("content-length") ?? 0);
  const parts = incoming.parts(maxFileBytes + maxFieldBytes);
  // Refused before the body is read, if the file certainly has no space.
  await files.ensureSpace(owner, Math.max(0, Math.min(announced, maxFileBytes) - maxFieldBytes));
  let file: ReceivedFile | undefined;
  try {
    const { filename, fields } = await readForm(parts, async (body) => {
      file = await files.receive(owner, atMost(body, maxFileBytes, "file"));
    });
    if (file === undefined) throw missingFile();
    const { purpose, expires_after } = validate(createFileForm, fields);
    if (purpose === "batch") checkBatchSize(file.bytes, maxBatchBytes);
    return await file.store((createdAt) => ({
      purpose,
      filename,
      expiresAt: expiryOf(createdAt, purpose, expires_after?.seconds, batchFileMs),
    }));
  } finally {
    await file?.discard();
  }
}

/** When a file expires, in Unix milliseconds. Null if never. */
export function expiryOf(
  createdAt: number,
  purpose: string,
  seconds: number | undefined,
  batchFileMs: number,
): number | null {
  if (seconds !== undefined) return createdAt + seconds * 1000;
  return purpose.startsWith("batch") && batchFileMs > 0 ? createdAt + batchFileMs : null;
}

function checkFilename({ length }: string): void {
  if (length <= maxFilenameLength) return;
  throw new GatewayError(
    "invalid_value",
    `Invalid 'file': its name has ${length} characters, and may have ${maxFilenameLength}. Send a shorter file name.`,
    { param: "file" },
  );
}

export function checkBatchSize(bytes: number, maxBytes: number, param = "file"): void {
  if (bytes <= maxBytes) return;
  throw new GatewayError(
    "request_too_large",
    `The file has ${bytes} bytes; the input file of a batch may have ${maxBytes} bytes. Split it into several batches, or ask the gateway's operator to raise VEXEL_BATCH_MAX_BYTES.`,
    { param },
  );
}

interface ReceivedForm {
  readonly filename: string;
  /** Nested fields, such as `expires_after[seconds]`, are objects. */
  readonly fields: Readonly<Record<string, unknown>>;
}

async function readForm(
  parts: AsyncIterable<FormPart>,
  receive: (body: BorrowedChunks) => Promise<void>,
): Promise<ReceivedForm> {
  const fields: Record<string, unknown> = {};
  let filename: string | undefined;
  let count = 0;
  for await (const part of parts) {
    if (++count > maxFields)
      throw new GatewayError(
        "invalid_form",
        `The multipart form has more than ${maxFields} parts.`,
      );
    if (part.name !== "file") {
      addField(fields, part.name, await readText(part));
      continue;
    }
    if (filename !== undefined) throw duplicate("file");
    filename = part.filename ?? "";
    checkFilename(filename);
    await receive(part.body);
  }
  return { filename: filename ?? "", fields };
}

/** Throws GatewayError if there are more bytes. `param`: the field of the form. */
export async function* atMost(
  chunks: BorrowedChunks,
  maxBytes: number,
  param: string,
): AsyncGenerator<BorrowedBytes> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new GatewayError(
        "request_too_large",
        `The file '${param}' is larger than the maximum of ${maxBytes} bytes. POST /v1/uploads accepts a large file in parts.`,
        { param },
      );
    }
    yield chunk;
  }
}

async function readText({ name, body }: FormPart): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(new Uint8Array(chunk), { stream: true });
    if (text.length > maxFieldBytes) {
      throw new GatewayError("request_too_large", `The form field '${name}' is too large.`, {
        param: name,
      });
    }
  }
  return text + decoder.decode();
}

/** OpenAI's SDKs write nested fields with brackets. */
function addField(fields: Record<string, unknown>, name: string, text: string): void {
  const [, outer = name, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
  if (inner === undefined) {
    if (Object.hasOwn(fields, name)) throw duplicate(name);
    fields[name] = text;
    return;
  }
  const nested = { ...(fields[outer] as Record<string, unknown> | undefined) };
  if (Object.hasOwn(nested, inner)) throw duplicate(name);
  nested[inner] = /^\d{1,12}$/.test(text) ? Number(text) : text;
  fields[outer] = nested;
}

const duplicate = (param: string): GatewayError =>
  new GatewayError(
    "duplicate_parameter",
    `Duplicate parameter: '${param}'. You provided multiple values for this parameter, whereas only one is allowed.`,
    { param },
  );

const missingFile = (): GatewayError =>
  new GatewayError("missing_parameter", "Missing required parameter: 'file'.", { param: "file" });
