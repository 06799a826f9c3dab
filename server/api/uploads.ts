/** /v1/uploads: files that are uploaded in parts. */
import { z } from "zod";
import { ownerOf } from "../auth/owner.ts";
import type { StoredFile } from "../files/client-files.ts";
import type { AddedPart, StoredUpload, Uploads } from "../files/uploads.ts";
import { decodePathSegment, json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { FormPart, IncomingRequest } from "../request/http-types.ts";
import {
  atMost,
  checkBatchSize,
  expiresAfter,
  filePurposes,
  maxFilenameLength,
  showFile,
} from "./files.ts";
import { type AuthenticationOptions, createCallerOf, readStoredBody } from "./stored-requests.ts";

interface UploadHandlerOptions extends AuthenticationOptions {
  readonly uploads: Uploads;
  /** The most bytes of a file with the purpose `batch`. */
  readonly maxBatchBytes: number;
}

const MiB = 1024 * 1024;
/** OpenAI's limits. */
const maxUploadBytes = 8 * 1024 * MiB;
const maxPartBytes = 64 * MiB;
/** The rest of the form. */
const maxFormOverhead = 16 * 1024;

export const createUploadBody = z.strictObject({
  bytes: z.int().min(1).max(maxUploadBytes).describe("The size of the file."),
  filename: z.string().min(1).max(maxFilenameLength).describe("The name of the file."),
  mime_type: z.string().min(1).max(200).describe("The type of the file, which is not used."),
  purpose: z.enum(filePurposes).describe("What the file is for."),
  expires_after: expiresAfter.optional(),
});

export const completeUploadBody = z.strictObject({
  part_ids: z.array(z.string()).min(1).max(10_000).describe("The ids of the parts, in order."),
  md5: z
    .string()
    .regex(/^[0-9a-f]{32}$/i, "it must have 32 hexadecimal digits")
    .optional()
    .describe("The MD5 checksum of the file, which is verified. A wrong one cancels the upload."),
});

/** The form of a part has only the file. */
export const uploadPartForm = z.strictObject({});

export type UploadHandlers = Pick<
  Handlers,
  "createUpload" | "addUploadPart" | "completeUpload" | "cancelUpload"
>;

export function createUploadHandlers(options: UploadHandlerOptions): UploadHandlers {
  const { uploads, maxBatchBytes, now } = options;
  const callerOf = createCallerOf(options);
  const read = <S extends z.ZodType>(incoming: IncomingRequest, schema: S) =>
    readStoredBody(incoming, callerOf(incoming), schema);
  const show = (upload: StoredUpload, file?: StoredFile) => showUpload(upload, now(), file);
  return {
    createUpload: async (incoming) => {
      const owner = ownerOf(callerOf(incoming));
      const { bytes, filename, purpose, expires_after } = await read(incoming, createUploadBody);
      if (purpose === "batch") checkBatchSize(bytes, maxBatchBytes, "bytes");
      const fileSeconds = expires_after?.seconds ?? null;
      return json(show(await uploads.create(owner, { bytes, filename, purpose, fileSeconds })));
    },
    addUploadPart: async (incoming, { id: encoded }) => {
      const owner = ownerOf(callerOf(incoming));
      const id = decodePathSegment(encoded);
      const { id: partId, createdAt } = await receivePart(incoming, (part) =>
        uploads.addPart(owner, id, atMost(part.body, maxPartBytes, part.name)),
      );
      const created_at = Math.floor(createdAt / 1000);
      return json({ id: partId, object: "upload.part", created_at, upload_id: id });
    },
    completeUpload: async (incoming, { id }) => {
      const owner = ownerOf(callerOf(incoming));
      const { part_ids, md5 } = await read(incoming, completeUploadBody);
      const { upload, file } = await uploads.complete(owner, decodePathSegment(id), part_ids, md5);
      return json(show(upload, file));
    },
    cancelUpload: async (incoming, { id }) =>
      json(show(await uploads.cancel(ownerOf(callerOf(incoming)), decodePathSegment(id)))),
  };
}

/** The form has one part, `data`. */
async function receivePart(
  incoming: IncomingRequest,
  store: (part: FormPart) => Promise<AddedPart>,
): Promise<AddedPart> {
  let added: AddedPart | undefined;
  for await (const part of incoming.parts(maxPartBytes + maxFormOverhead)) {
    if (part.name !== "data" || added) {
      throw new GatewayError(
        "unknown_parameter",
        `Unknown parameter: '${part.name}'. The form of a part has one file, 'data'.`,
        { param: part.name },
      );
    }
    added = await store(part);
  }
  if (added) return added;
  throw new GatewayError("missing_parameter", "Missing required parameter: 'data'.", {
    param: "data",
  });
}

const showUpload = (upload: StoredUpload, now: number, file?: StoredFile) => ({
  id: upload.id,
  object: "upload",
  bytes: upload.bytes,
  created_at: Math.floor(upload.createdAt / 1000),
  expires_at: Math.floor(upload.expiresAt / 1000),
  filename: upload.filename,
  purpose: upload.purpose,
  status: upload.status === "pending" && upload.expiresAt <= now ? "expired" : upload.status,
  ...(file && { file: showFile(file) }),
});
