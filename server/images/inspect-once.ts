/** What was seen of a picture is known for as long as the picture is: every pixel of a caller's is decoded once. */
import type { ImageWorker, Seen, Source } from "../workers/image/image-worker.ts";

export interface CachedInspector extends Pick<ImageWorker, "inspect"> {
  /** It was looked at under another name. */
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
