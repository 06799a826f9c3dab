/** Wires image links together: stores an image, signs its link, and serves it to clients that have the link. */
import { join } from "node:path";
import { createImageFiles } from "../api/image-files.ts";
import type { Handler } from "../http/route.ts";
import { imageTypeOf } from "../images/image-head.ts";
import { signLink, verifyLink } from "../images/signed-link.ts";
import { ImageFiles, type ImageFilesOptions } from "../storage/files/image-files.ts";
import { type LinkSecretOptions, openLinkSecrets } from "../storage/files/link-secret.ts";
import type { BlobSource, BlobStore } from "../storage/ports/blob-store.ts";
import type { LoadedImage } from "../upstream/contract.ts";

export interface ImageLinksOptions {
  /** The data folder; it must exist. */
  readonly folder: string;
  readonly ttlMs: number;
  /** How long a stored response with links may be replayed. */
  readonly replayMs: number;
  readonly maxBytes: number;
  readonly disk: ImageFilesOptions["disk"];
  readonly secrets: Pick<LinkSecretOptions, "secret" | "previous">;
  /** The images that replicas share. Absent: images are in the data folder. */
  readonly images: BlobStore | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface ImageLinks {
  /**
   * Stores an image and returns its link. `isReplayed`: the response may be replayed later, so its link works longer:
   * for the full time after the last replay.
   */
  store(image: LoadedImage, publicUrl: string, isReplayed?: boolean): Promise<string>;
  readonly handler: Handler<"name">;
  sweep(): Promise<void>;
}

export function createImageLinks(options: ImageLinksOptions): ImageLinks {
  const { folder, maxBytes, disk, now } = options;
  const store =
    options.images ?? new ImageFiles({ folder: join(folder, "images"), maxBytes, disk, now });
  const secrets = openLinkSecrets({ folder, ...options.secrets });
  return {
    store: async (image, publicUrl, isReplayed = false) => {
      const ttlMs = options.ttlMs + (isReplayed ? options.replayMs : 0);
      const type = imageTypeOf(image) ?? "application/octet-stream";
      const { name, expires, url } = await store.put(sourceOf(image), { type, ttlMs });
      return url ?? `${publicUrl}/files/images/${name}${signLink(name, expires, secrets[0])}`;
    },
    handler: createImageFiles({
      store,
      check: (name, search) => verifyLink(name, search, secrets, now()),
      now,
    }),
    sweep: () => store.sweep(),
  };
}

/** Base64 characters that are decoded at a time. A multiple of four. */
const chunkLength = 256 * 1024;

function sourceOf(image: LoadedImage): BlobSource {
  if (image.kind === "bytes") return image.bytes;
  if (image.kind === "spilled") return image.spilled;
  const { base64 } = image;
  return {
    encoding: "base64",
    length: base64.length,
    stream: async function* () {
      for (let at = 0; at < base64.length; at += chunkLength) {
        yield Buffer.from(base64.slice(at, at + chunkLength), "latin1");
      }
    },
  };
}
