/** Image links: stores an image, signs its link, and finds it for clients that have the link. */
import { join } from "node:path";
import { ImageFiles, type ImageFilesOptions } from "../storage/files/image-files.ts";
import { type LinkSecretOptions, openLinkSecrets } from "../storage/files/link-secret.ts";
import type { BlobSource, BlobStore } from "../storage/ports/blob-store.ts";
import type { LoadedImage } from "../upstream/contract.ts";
import { imageTypeOf } from "./image-head.ts";
import type { LinkLifetime } from "./image-links.ts";
import { signLink, verifyLink } from "./signed-link.ts";

interface ImageLinksOptions {
  /** The data folder; it must exist. */
  readonly folder: string;
  readonly ttlMs: number;
  /** How long a stored response with links may be replayed. */
  readonly replayMs: number;
  /** How long a job with links in its result is stored. */
  readonly jobMs: number;
  readonly maxBytes: number;
  readonly disk: ImageFilesOptions["disk"];
  readonly secrets: Pick<LinkSecretOptions, "secret" | "previous">;
  /** The images that replicas share. If absent, images are in the data folder. */
  readonly images: BlobStore | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export type ImageLinks = ReturnType<typeof openImageLinks>;

export function openImageLinks(options: ImageLinksOptions) {
  const { folder, maxBytes, disk, now } = options;
  const store =
    options.images ?? new ImageFiles({ folder: join(folder, "images"), maxBytes, disk, now });
  const secrets = openLinkSecrets({ folder, ...options.secrets });
  return {
    /**
     * Stores an image and returns its link. The link of a response that may be replayed, or of a job, works longer: for
     * the full time after it was last read.
     */
    store: async (
      image: LoadedImage,
      publicUrl: string,
      lifetime: LinkLifetime = "response",
    ): Promise<string> => {
      const extraMs = { response: 0, replay: options.replayMs, job: options.jobMs }[lifetime];
      const ttlMs = options.ttlMs + extraMs;
      const type = imageTypeOf(image) ?? "application/octet-stream";
      const { name, expires, url } = await store.put(sourceOf(image), { type, ttlMs });
      return url ?? `${publicUrl}/files/images/${name}${signLink(name, expires, secrets[0])}`;
    },
    find: (name: string) => store.find(name),
    /** The link's expiry in Unix seconds. Undefined if its signature is not valid, or it has expired. */
    check: (name: string, search: string): number | undefined =>
      verifyLink(name, search, secrets, now()),
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
