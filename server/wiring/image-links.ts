/** Pictures that are handed out as links: kept, signed, and found again by those who have the link. */
import { join } from "node:path";
import { createPictures } from "../api/image-files.ts";
import type { Handler } from "../http/listen.ts";
import { type Held, imageTypeOf } from "../images/image-head.ts";
import { checkLink, signLink } from "../lib/signed-link.ts";
import type { BlobSource } from "../storage/blob-store.ts";
import { ImageFiles, type ImageFilesOptions } from "../storage/image-files.ts";
import { openLinkSecret } from "../storage/link-secret.ts";

export interface PictureLinksOptions {
  /** Of the data; it must be there. */
  readonly folder: string;
  readonly ttlMs: number;
  /** How long an answer with links may be given again. */
  readonly givenAgainMs: number;
  readonly maxBytes: number;
  readonly disk: ImageFilesOptions["disk"];
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface PictureLinks {
  /** Keeps a picture and returns its link. One that is given again works for its time from the last time on. */
  keep(picture: Held, publicUrl: string, givenAgain?: boolean): Promise<string>;
  readonly handler: Handler;
  sweep(): Promise<void>;
}

export function createPictureLinks(options: PictureLinksOptions): PictureLinks {
  const { folder, maxBytes, disk, now } = options;
  const store = new ImageFiles({ folder: join(folder, "images"), maxBytes, disk, now });
  const secret = openLinkSecret(folder);
  return {
    keep: async (picture, publicUrl, givenAgain = false) => {
      const ttlMs = options.ttlMs + (givenAgain ? options.givenAgainMs : 0);
      const type = imageTypeOf(picture) ?? "application/octet-stream";
      const { name, expires } = await store.put(sourceOf(picture), { type, ttlMs });
      return `${publicUrl}/pictures/${name}${signLink(name, expires, secret)}`;
    },
    handler: createPictures({
      shelf: store,
      check: (name, search) => checkLink(name, search, secret, now()),
      now,
    }),
    sweep: () => store.sweep(),
  };
}

/** So long a piece of text becomes bytes at a time. A multiple of four. */
const pieceLength = 256 * 1024;

function sourceOf(picture: Held): BlobSource {
  if (picture.kind === "bytes") return picture.bytes;
  if (picture.kind === "aside") return picture.aside;
  const { base64 } = picture;
  return {
    encoding: "base64",
    length: base64.length,
    stream: async function* () {
      for (let at = 0; at < base64.length; at += pieceLength) {
        yield Buffer.from(base64.slice(at, at + pieceLength), "latin1");
      }
    },
  };
}
