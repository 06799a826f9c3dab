/** Sends an image to the image worker: as a file path if it is large, else as bytes. */
import { ignoreRejection } from "../../lib/tasks.ts";
import { UnlinkedTempFile } from "../../temp-storage/unlinked-temp-file.ts";
import type { FilePart, LoadedImage } from "../../upstream/contract.ts";
import { writeFailed } from "./image-errors.ts";
import type { SentImage } from "./messages.ts";

/** An upload, or a downloaded image of an upstream response. */
export type WorkerInput = FilePart | LoadedImage;

/** Images up to this size are sent in the message. */
const maxInlineBytes = 128 * 1024;

export const isFile = (source: WorkerInput): source is FilePart => !("kind" in source);

/** In bytes, decoded. Base64 with line breaks gives a little more. */
export function sizeOf(source: WorkerInput): number {
  if (isFile(source)) return source.size;
  if (source.kind === "bytes") return source.bytes.length;
  if (source.kind === "base64") return decodedLength(source.base64.length);
  const { encoding, length } = source.spilled;
  return encoding === "raw" ? length : decodedLength(length);
}

const decodedLength = (characters: number): number => Math.floor((characters * 3) / 4);

interface OpenForWorkerOptions {
  /** The child process can open files of this process. */
  readonly byPath: boolean;
  /** The folder for large images that are in memory, while the process reads them. */
  readonly folder: string;
}

/** An image that the process may read until `release` is called. */
interface ImageHandle {
  readonly sent: SentImage;
  release?(): void;
}

/**
 * The file stays open for the process even if the request ends meanwhile: its descriptor is not reused for another
 * file.
 */
export async function openForWorker(
  source: WorkerInput,
  { byPath, folder }: OpenForWorkerOptions,
): Promise<ImageHandle> {
  const handle = byPath ? openFile(source) : undefined;
  if (handle) return handle;
  const bytes = await readBytes(source);
  // Written to the page cache: a message takes twice the CPU time.
  if (byPath && bytes.length > maxInlineBytes) {
    const spilled = await spill(bytes, folder);
    if (spilled) return spilled;
  }
  // Copied: serializing a view would send its whole buffer.
  return { sent: { kind: "bytes", bytes: new Uint8Array(bytes) } };
}

function openFile(source: WorkerInput): ImageHandle | undefined {
  let release: (() => void) | undefined;
  if (isFile(source)) release = source.keepOpen?.();
  else if (source.kind === "spilled") release = source.spilled.keepOpen?.();
  if (!release) return undefined;
  const sent = locate(source);
  if (sent) return { sent, release };
  release();
  return undefined;
}

function locate(source: WorkerInput): SentImage | undefined {
  if (isFile(source)) {
    const { path, size } = source;
    if (path === undefined) return undefined;
    return { kind: "file", range: { path, from: 0, length: size }, encoding: "raw" };
  }
  if (source.kind !== "spilled") return undefined;
  const { path, range, length, encoding } = source.spilled;
  if (range) return { kind: "file", range, encoding };
  return path === undefined
    ? undefined
    : { kind: "file", range: { path, from: 0, length }, encoding };
}

async function readBytes(source: WorkerInput): Promise<Uint8Array> {
  if (isFile(source)) return source.bytes();
  if (source.kind === "bytes") return source.bytes;
  if (source.kind === "base64") return Buffer.from(source.base64, "base64");
  const bytes = await source.spilled.bytes();
  if (source.spilled.encoding === "raw") return bytes;
  return Buffer.from(Buffer.from(bytes).toString("latin1"), "base64");
}

async function spill(bytes: Uint8Array, folder: string): Promise<ImageHandle | undefined> {
  let file: UnlinkedTempFile | undefined;
  const release = (): void => ignoreRejection(file?.close());
  try {
    file = await UnlinkedTempFile.create(folder);
    const { path } = file;
    if (path === undefined) {
      release();
      return undefined;
    }
    file.append(bytes);
    const range = { path, from: 0, length: bytes.length };
    return { sent: { kind: "file", range, encoding: "raw" }, release };
  } catch (cause) {
    release();
    throw writeFailed(cause);
  }
}
