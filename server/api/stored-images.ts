/**
 * Edits whose images are files of `/v1/files`: a `file_id` of the client's project becomes the file itself, for every
 * upstream. Any other `file_id` is passed on to upstreams that have files of their own.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { sniffImage, sniffLength } from "../lib/sniff-image.ts";
import type { FilePart, ImageSource } from "../upstream/contract.ts";
import type { ResolveFileIds } from "./edits.ts";

/** A stored file whose content can be read. */
interface StoredImage {
  readonly purpose: string;
  readonly filename: string;
  readonly size: number;
  read(from?: number, to?: number): ReadableStream<Uint8Array>;
}

/** Undefined if the owner of the API key has no such file. */
export type FindStoredImage = (keyId: string, fileId: string) => Promise<StoredImage | undefined>;

/** Files with other purposes, such as the input of a batch, are not images. */
const imagePurposes: ReadonlySet<string> = new Set(["vision", "user_data"]);

export const createResolveFileIds =
  (find: FindStoredImage, maxFileBytes: number): ResolveFileIds =>
  async (query, keyId) => {
    const { images, mask, markup } = query;
    const resolve = async (source: ImageSource, field: string): Promise<ImageSource> => {
      const image = source.kind === "file_id" ? await find(keyId, source.id) : undefined;
      return image ? { kind: "file", file: await filePart(image, field, maxFileBytes) } : source;
    };
    return {
      ...query,
      images: await Promise.all(images.map((source) => resolve(source, "images"))),
      ...(mask && { mask: await resolve(mask, "mask") }),
      ...(markup && { markup: await resolve(markup, "markup") }),
    };
  };

async function filePart(
  { purpose, filename, size, read }: StoredImage,
  field: string,
  maxFileBytes: number,
): Promise<FilePart> {
  if (!imagePurposes.has(purpose)) {
    throw new GatewayError(
      "invalid_value",
      `Invalid file '${field}': its purpose is '${purpose}', and must be 'vision' or 'user_data'.`,
      { param: field },
    );
  }
  if (size > maxFileBytes) {
    throw new GatewayError(
      "request_too_large",
      `The file '${field}' has ${size} bytes; an image of an edit may have ${maxFileBytes} bytes.`,
      { param: field },
    );
  }
  const type = sniffImage(await new Response(read(0, sniffLength)).bytes());
  if (type === undefined) {
    throw new GatewayError(
      "unsupported_file_mimetype",
      `Invalid file '${field}': it is not an image. Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`,
      { param: field },
    );
  }
  return {
    field,
    filename,
    type,
    size,
    stream: () => read(),
    bytes: () => new Response(read()).bytes(),
  };
}
