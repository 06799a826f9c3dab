/** Uploaded images: recognized by their first bytes, inspected, and decoded within limits. */
import type { Size } from "../options.ts";
import type { Raster, Sharp } from "../raster/raster.ts";
import type { ImageInput } from "../request.ts";
import { SketchError } from "../sketch-error.ts";

type Param = "image" | "mask" | "markup";
type FileType = "png" | "jpeg" | "webp" | "gif";

const maxPixels = 64_000_000;
const supportedTypes = "'image/jpeg', 'image/png', 'image/webp', and 'image/gif'";

/** An image file that was inspected, but not yet decoded. */
export interface Upload {
  readonly param: Param;
  /** Called for each decoding: a `data:` URL is not kept in memory a second time as bytes. */
  readonly read: () => Uint8Array;
  readonly type: FileType;
  /** The size after the orientation of the file is applied. */
  readonly size: Size;
  readonly hasAlpha: boolean;
  /** True: the colors are sRGB already. They are not converted, so that unchanged pixels keep their bytes. */
  readonly isSrgb: boolean;
}

export function inspect(sharp: Sharp, input: ImageInput, param: Param): Promise<Upload> {
  return inspectFile(sharp, () => bytesOf(input, param), param);
}

function bytesOf(input: ImageInput, param: Param): Uint8Array {
  if (input.kind === "bytes") return input.bytes;
  if (input.kind === "url" && /^data:/i.test(input.url)) return decodeDataUrl(input.url, param);
  throw new SketchError(
    "invalid_value",
    "This model reads uploads and data: URLs; it does not fetch other URLs or file ids.",
    { param },
  );
}

function decodeDataUrl(url: string, param: Param): Uint8Array {
  const invalid = (problem: string): SketchError =>
    new SketchError("invalid_image_file", `The data: URL of '${param}' ${problem}.`, { param });
  const comma = url.indexOf(",");
  if (comma < 0) throw invalid("has no content");
  const parameters = url.slice("data:".length, comma).toLowerCase().split(";");
  if (!parameters.includes("base64")) throw invalid("must be base64");
  const base64 = url
    .slice(comma + 1)
    .replace(/%2b/gi, "+")
    .replace(/%2f/gi, "/")
    .replace(/%3d/gi, "=");
  return Buffer.from(base64, "base64");
}

/** Decides by magic bytes alone, so that SVG, PDF and the like never reach a decoder. */
function fileTypeOf(bytes: Uint8Array): FileType | undefined {
  const hasAt = (offset: number, text: string): boolean =>
    [...text].every((character, i) => bytes[offset + i] === character.charCodeAt(0));
  if (hasAt(0, "\x89PNG\r\n\x1a\n")) return "png";
  if (hasAt(0, "\xff\xd8\xff")) return "jpeg";
  if (hasAt(0, "RIFF") && hasAt(8, "WEBP")) return "webp";
  return hasAt(0, "GIF8") ? "gif" : undefined;
}

async function inspectFile(sharp: Sharp, read: () => Uint8Array, param: Param): Promise<Upload> {
  const bytes = read();
  const type = fileTypeOf(bytes);
  if (type === undefined) {
    throw new SketchError(
      "unsupported_file_mimetype",
      `Invalid file '${param}': unsupported mimetype. Supported file formats are ${supportedTypes}.`,
      { param },
    );
  }
  try {
    const found = await sharp(bytes, { limitInputPixels: maxPixels, failOn: "error" }).metadata();
    // Orientations 5 to 8 of EXIF swap width and height.
    const isTurned = (found.orientation ?? 1) >= 5;
    const [width, height] = [found.width, found.pageHeight ?? found.height];
    return {
      param,
      read,
      type,
      size: isTurned ? { width: height, height: width } : { width, height },
      hasAlpha: found.hasAlpha,
      isSrgb: found.icc === undefined || Buffer.from(found.icc).includes("sRGB"),
    };
  } catch (cause) {
    throw undecodable(param, cause);
  }
}

function undecodable(param: Param, cause: unknown): SketchError {
  const isTooLarge = cause instanceof Error && /pixel limit/i.test(cause.message);
  const problem = isTooLarge
    ? `the image has more than ${maxPixels / 1e6} million pixels`
    : "the image cannot be decoded";
  return new SketchError("invalid_image_file", `Invalid file '${param}': ${problem}.`, {
    param,
    cause,
  });
}

/** Decodes to RGBA at the given size. At the image's own size every pixel keeps its bytes. */
export async function decode(
  sharp: Sharp,
  upload: Upload,
  size: Size,
  fit: "cover" | "fill" = "cover",
): Promise<Raster> {
  try {
    const image = sharp(upload.read(), {
      limitInputPixels: maxPixels,
      failOn: "error",
      ignoreIcc: upload.isSrgb,
    }).autoOrient();
    const isSameSize = upload.size.width === size.width && upload.size.height === size.height;
    const sized = isSameSize ? image : image.resize(size.width, size.height, { fit });
    const { data, info } = await sized
      .toColorspace("srgb")
      .ensureAlpha()
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    if (info.width !== size.width || info.height !== size.height || info.channels !== 4) {
      throw new RangeError(`decoded to ${info.width}x${info.height}x${info.channels}`);
    }
    return { width: size.width, height: size.height, pixels: data };
  } catch (cause) {
    throw undecodable(upload.param, cause);
  }
}
