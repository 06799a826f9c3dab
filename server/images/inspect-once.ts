/** Caches the inspection of an image for the lifetime of the image: each upload is decoded once. */
import type { ImageInspection, ImageWorker, WorkerInput } from "../workers/image/image-worker.ts";

export interface CachedInspector extends Pick<ImageWorker, "inspect"> {
  /** Stores an inspection that was made of the same image under another object. */
  set(image: WorkerInput, inspection: ImageInspection): void;
}

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
