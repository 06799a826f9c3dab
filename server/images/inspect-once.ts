/** Caches the inspection of an image for the lifetime of the image: each upload is decoded once. */
import type { ImageWorker, Seen, Source } from "../workers/image/image-worker.ts";

export interface CachedInspector extends Pick<ImageWorker, "inspect"> {
  /** Stores an inspection that was made of the same image under another object. */
  set(picture: Source, seen: Seen): void;
}

export function inspectOnce({ inspect }: Pick<ImageWorker, "inspect">): CachedInspector {
  const known = new WeakMap<Source, Seen>();
  return {
    inspect: async (picture, signal, field, key) => {
      const seen = known.get(picture) ?? (await inspect(picture, signal, field, key));
      known.set(picture, seen);
      return seen;
    },
    set: (picture, seen) => void known.set(picture, seen),
  };
}
