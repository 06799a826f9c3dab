/**
 * Images in an object store, for clients that requested links. Every replica serves and deletes them: the name of an
 * image begins with its expiry, so a list of names is in the order of deletion, and no index is needed.
 */
import { randomBytes } from "node:crypto";
import { GatewayError } from "../../lib/gateway-error.ts";
import { extensionOf, typeOfExtension } from "../../lib/sniff-image.ts";
import { blobChunks, blobError, blobSize } from "../blob-source.ts";
import type {
  BlobMetadata,
  BlobSource,
  BlobStore,
  FoundBlob,
  PutBlob,
} from "../ports/blob-store.ts";
import type { ObjectStore } from "./object-store.ts";

interface S3ImagesOptions {
  readonly objects: ObjectStore;
  /** The maximum size of the images of all replicas, as of the last sweep, and of this replica's images since then. */
  readonly maxBytes: number;
  /** Whether a link leads to the object store, by presigned URL, and not to the gateway. */
  readonly isPresigned: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const folder = "images/";
/** The expiry in Unix seconds, 24 random bytes, the extension. */
const namePattern = /^([0-9a-f]{8})[A-Za-z0-9_-]{32}\.(png|jpg|webp|gif|svg|avif|bin)$/;
/** An image is deleted a little after it expires, as a response may still be sending it. */
const graceMs = 60_000;

export class S3Images implements BlobStore {
  readonly #options: S3ImagesOptions;
  #storedBytes = 0;
  #sweeping: Promise<void> | undefined;

  constructor(options: S3ImagesOptions) {
    this.#options = options;
  }

  async put(source: BlobSource, { type, ttlMs }: BlobMetadata): Promise<PutBlob> {
    const { objects, maxBytes, isPresigned, now } = this.#options;
    const size = blobSize(source);
    if (this.#storedBytes + size > maxBytes) throw noSpace();
    this.#storedBytes += size;
    const expires = Math.ceil((now() + ttlMs) / 1000);
    const random = randomBytes(24).toString("base64url");
    const name = `${expires.toString(16).padStart(8, "0")}${random}.${extensionOf(type)}`;
    try {
      await objects.write(folder + name, blobChunks(source), type);
    } catch (error) {
      this.#storedBytes -= size;
      throw blobError(error);
    }
    const seconds = expires - Math.floor(now() / 1000);
    return {
      name,
      expires,
      ...(isPresigned && { url: objects.presign(folder + name, seconds) }),
    };
  }

  async find(name: string): Promise<FoundBlob | undefined> {
    const { objects, now } = this.#options;
    const [, expires, extension] = namePattern.exec(name) ?? [];
    if (expires === undefined || extension === undefined || expiryOf(expires) <= now()) return;
    const found = await objects.find(folder + name);
    return found && { type: typeOfExtension(extension), size: found.size, content: found.content };
  }

  /** Deletes expired images, and counts the rest. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { objects, now } = this.#options;
    const before = this.#storedBytes;
    const at = now();
    const counted = await objects.sweep(folder, ({ key }) => {
      const expires = namePattern.exec(key.slice(folder.length))?.[1];
      return expires !== undefined && expiryOf(expires) + graceMs <= at;
    });
    this.#storedBytes = Math.max(0, counted + (this.#storedBytes - before));
  }
}

/** Unix milliseconds. */
const expiryOf = (hex: string): number => Number.parseInt(hex, 16) * 1000;

const noSpace = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "There is no space left for image links (VEXEL_IMAGES_MAX_BYTES). Retry later, or use response_format b64_json.",
    { retryAfterMs: 60_000 },
  );
