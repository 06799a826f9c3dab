/** What was seen of a picture is known for as long as the picture is: every pixel of a caller's is decoded once. */
import type { Darkroom, Seen, Source } from "../workers/image/image-worker.ts";

export interface Looks extends Pick<Darkroom, "inspect"> {
  /** It was looked at under another name. */
  know(picture: Source, seen: Seen): void;
}

export function lookOnce({ inspect }: Pick<Darkroom, "inspect">): Looks {
  const known = new WeakMap<Source, Seen>();
  return {
    inspect: async (picture, signal, field, key) => {
      const seen = known.get(picture) ?? (await inspect(picture, signal, field, key));
      known.set(picture, seen);
      return seen;
    },
    know: (picture, seen) => void known.set(picture, seen),
  };
}
