/**
 * Spools uploaded files: small ones stay in memory, larger ones are spilled to unlinked temp files until the request
 * ends.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { sniffImage, sniffLength } from "../lib/sniff-image.ts";
import type { TempAccount } from "../lib/temp-storage.ts";
import { UnlinkedTempFile } from "../lib/unlinked-temp-file.ts";
import type { FilePart } from "../request/http-types.ts";
import type { FormPart } from "./multipart.ts";

export interface SpoolLimits {
  readonly maxFileBytes: number;
  /** Files up to this size stay in memory, while the memory budget allows it. */
  readonly memoryBytes: number;
  readonly folder: string;
}

export interface SpooledFile {
  readonly part: FilePart;
  dispose(): Promise<void>;
}

/** Throws GatewayError, also where the API key has used up its share of temp storage. */
export async function spool(
  incoming: FormPart,
  limits: SpoolLimits,
  account: TempAccount,
): Promise<SpooledFile> {
  const { name, body } = incoming;
  const chunks: Buffer[] = [];
  let memoryBytes = 0;
  let size = 0;
  let start: Buffer = Buffer.alloc(0);
  let file: UnlinkedTempFile | undefined;
  const releaseMemory = (): void => {
    account.releaseMemory(memoryBytes);
    memoryBytes = 0;
  };
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > limits.maxFileBytes) throw tooLarge(name, limits.maxFileBytes);
      if (start.length < sniffLength) {
        start = Buffer.concat([start, chunk.subarray(0, sniffLength)]).subarray(0, sniffLength);
      }
      if (!file && size <= limits.memoryBytes && account.takeMemory(chunk.length)) {
        memoryBytes += chunk.length;
        chunks.push(Buffer.from(chunk));
        continue;
      }
      file ??= await UnlinkedTempFile.create(limits.folder, account).catch((cause) => {
        throw unwritable(cause);
      });
      for (const earlier of chunks.splice(0)) append(file, earlier);
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
  const memory = Buffer.concat(chunks);
  return {
    part: { ...part, stream: () => new Blob([memory]).stream(), bytes: async () => memory },
    dispose: async () => releaseMemory(),
  };
}

const typeOf = (start: Uint8Array): string => sniffImage(start) ?? "application/octet-stream";

const fileAccess = (
  file: UnlinkedTempFile,
): Pick<FilePart, "path" | "keepOpen" | "stream" | "bytes"> => ({
  ...(file.path !== undefined && { path: file.path }),
  keepOpen: () => file.keepOpen(),
  stream: () => file.stream(),
  bytes: () => file.bytes(),
});

function append(file: UnlinkedTempFile, bytes: Uint8Array): void {
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
