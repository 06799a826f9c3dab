/**
 * Image worker: decodes and encodes images in child processes, because untrusted clients send them and a decoder may
 * crash. Large images are read and written there too, so that the gateway never holds one in memory.
 */

import { tmpdir } from "node:os";
import type { GatewayError } from "../../lib/gateway-error.ts";
import type { RequestTemp } from "../../temp-storage/request-temp.ts";
import type { UnlinkedTempFile } from "../../temp-storage/unlinked-temp-file.ts";
import { type CollectedImage, toSpilledImage } from "../../upstream/collect-image.ts";
import type { Spawn } from "../process/worker-process.ts";
import { type Field, imageTooLarge, toImageError, tooSlow, writeFailed } from "./image-errors.ts";
import type {
  ImageConversion,
  ImageInspection,
  ImageTask,
  ImageWorkerResponsePart,
  MaskConvention,
} from "./messages.ts";
import { isFile, openForWorker, sizeOf, type WorkerInput } from "./worker-input.ts";
import { createWorkerPool, type SendToChild } from "./worker-pool.ts";

/**
 * An upload that cannot be decoded is an error of the client (invalid_image_file), any other image an error of the
 * upstream. `key`: the API key that a task runs for. Keys take turns.
 */
export interface ImageWorker {
  /** Decodes the whole image. `field`: the client's name of the parameter. The default is the field of the upload. */
  inspect(
    image: WorkerInput,
    signal: AbortSignal,
    field?: string,
    key?: string,
  ): Promise<ImageInspection>;
  /**
   * Converts the format, with the orientation applied, in sRGB, without metadata. An animation stays animated if the
   * format supports it.
   */
  convert(
    image: WorkerInput,
    to: ImageConversion,
    context: ImageTaskContext,
  ): Promise<CollectedImage>;
  /** A PNG that marks the same area in another convention. In a mask without transparency, white marks the area. */
  mask(mask: WorkerInput, to: MaskConvention, context: ImageTaskContext): Promise<CollectedImage>;
  close(): Promise<void>;
}

/** Context of one image task: its signal, its API key and where its result goes. */
export interface ImageTaskContext {
  readonly signal: AbortSignal;
  readonly temp: RequestTemp;
  /** The API key that the task runs for. */
  readonly key?: string | undefined;
  /** Called if the image has a C2PA manifest, which its conversion removes. */
  readonly onManifestLost?: () => void;
}

export interface ImageWorkerOptions {
  /** How long an idle process is kept. */
  readonly idleMs?: number;
  /** Maximum pixels, over all pages of an image. */
  readonly maxPixels?: number;
  /** Maximum bytes of a file. */
  readonly maxBytes?: number;
  readonly taskMs?: number;
  /** The timeout of decoding, by pixels and bytes; `taskMs` at most. */
  readonly inspectMs?: (pixels: number, bytes: number) => number;
  readonly maxRunning?: number;
  readonly maxWaiting?: number;
  /** False where processes of one user cannot open each other's files: bytes are sent then. Detected if not given. */
  readonly byPath?: boolean;
  /** For the files of images that are in memory, while a process reads them. */
  readonly folder?: string;
  readonly spawn?: Spawn;
}

/** Files above this size are processed one at a time, because some have to be in memory as a whole. */
const largeBytes = 8 * 1024 * 1024;

export function createImageWorker({
  idleMs,
  maxPixels = 64_000_000,
  maxBytes = 128 * 1024 * 1024,
  taskMs = 60_000,
  inspectMs = defaultInspectMs,
  maxRunning = 2,
  // A queued task costs next to nothing, because its image is on disk: client timeouts bound the queue.
  maxWaiting = 512,
  byPath: mayReadPaths = true,
  folder = tmpdir(),
  spawn,
}: ImageWorkerOptions = {}): ImageWorker {
  const pool = createWorkerPool({
    maxPixels,
    ...(idleMs !== undefined && { idleMs }),
    maxRunning,
    maxWaiting,
    taskMs,
    ...(spawn && { spawn }),
  });
  let canReadPaths = mayReadPaths;

  const sendToChild = async (
    send: SendToChild,
    { source, task, temp }: ImageWorkerTask,
    byPath: boolean,
  ) => {
    const { sent: image, release } = await openForWorker(source, { byPath, folder });
    let releaseFile: (() => void) | undefined;
    try {
      const file = byPath && temp ? await newFile(temp) : undefined;
      releaseFile = file?.keepOpen();
      const into = file?.path;
      const timeoutFor = (pixels: number): number =>
        task.kind === "inspect" ? inspectMs(pixels, sizeOf(source)) : taskMs;
      const parts = await send({ image, task, ...(into !== undefined && { into }) }, timeoutFor);
      if (parts.at(-1)?.kind === "written") await file?.refreshSize();
      return { parts, file };
    } finally {
      releaseFile?.();
      release?.();
    }
  };

  const runTask = <T>(
    queued: ImageWorkerTask,
    readResult: (
      parts: readonly ImageWorkerResponsePart[],
      file: UnlinkedTempFile | undefined,
    ) => Promise<T>,
  ): Promise<T> => {
    const { source, signal, key = "", field = fieldOf(source) } = queued;
    if (sizeOf(source) > maxBytes) return Promise.reject(imageTooLarge(maxBytes, field));
    const timeoutError = (boundMs: number): GatewayError => tooSlow(boundMs, field);
    const isLarge = sizeOf(source) > largeBytes;
    const work = async (send: SendToChild): Promise<T> => {
      let response = await sendToChild(send, queued, canReadPaths);
      if (failureOf(response.parts)?.reason === "unreachable") {
        response = await sendToChild(send, queued, false);
        // This process could read the file, so children cannot open its paths: bytes are sent from now on.
        canReadPaths = false;
      }
      const failure = failureOf(response.parts);
      if (failure) throw toImageError(failure.reason, failure.problem, field);
      return readResult(response.parts, response.file);
    };
    return pool.run({ signal, key, isLarge, timeoutError, work });
  };

  return {
    inspect: (source, signal, field, key) =>
      runTask({ source, task: { kind: "inspect" }, signal, field, key }, inspectionIn),
    convert: (source, to, { onManifestLost, ...context }) =>
      runTask({ source, task: { kind: "convert", to }, ...context }, (parts, file) => {
        if (parts.some(({ kind }) => kind === "manifest-lost")) onManifestLost?.();
        return imageIn(parts, file);
      }),
    mask: (source, to, context) =>
      runTask({ source, task: { kind: "mask", to }, ...context }, imageIn),
    close: () => pool.close(),
  };
}

interface CachedInspector extends Pick<ImageWorker, "inspect"> {
  /** Caches an inspection for another object that holds the same image. */
  set(image: WorkerInput, inspection: ImageInspection): void;
}

/** Caches the inspection of an image for the lifetime of the image: each upload is decoded once. */
export function inspectOnce({ inspect }: Pick<ImageWorker, "inspect">): CachedInspector {
  const cache = new WeakMap<WorkerInput, ImageInspection>();
  return {
    inspect: async (image, signal, field, key) => {
      const inspection = cache.get(image) ?? (await inspect(image, signal, field, key));
      cache.set(image, inspection);
      return inspection;
    },
    set: (image, inspection) => void cache.set(image, inspection),
  };
}

interface ImageWorkerTask {
  readonly source: WorkerInput;
  readonly task: ImageTask;
  readonly signal: AbortSignal;
  readonly temp?: RequestTemp;
  readonly field?: Field;
  readonly key?: string | undefined;
}

/**
 * The timeout of inspecting an upload: several times what a regular file takes on a busy machine, by pixels and bytes.
 * Conversions of the same file come later, and have the whole task timeout.
 */
const defaultInspectMs = (pixels: number, bytes: number): number =>
  10_000 + pixels / 1000 + bytes / 1000;

const fieldOf = (source: WorkerInput): Field => (isFile(source) ? source.field : undefined);

const newFile = (temp: RequestTemp): Promise<UnlinkedTempFile> =>
  temp.file().catch((cause) => {
    throw writeFailed(cause);
  });

const failureOf = (parts: readonly ImageWorkerResponsePart[]) =>
  parts.find((part) => part.kind === "failed");

async function inspectionIn(parts: readonly ImageWorkerResponsePart[]): Promise<ImageInspection> {
  const [part] = parts;
  if (part?.kind !== "inspected") throw new Error("The image worker sent no inspection result.");
  return part.inspection;
}

async function imageIn(
  parts: readonly ImageWorkerResponsePart[],
  file: UnlinkedTempFile | undefined,
): Promise<CollectedImage> {
  if (file && parts.at(-1)?.kind === "written")
    return { kind: "spilled", spilled: await toSpilledImage(file) };
  const chunks = parts.flatMap((part) => (part.kind === "bytes" ? [part.bytes] : []));
  return { kind: "bytes", bytes: Buffer.concat(chunks) };
}
