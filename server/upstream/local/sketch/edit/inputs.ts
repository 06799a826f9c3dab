/** Uploaded pictures: fetched from where they are, recognised by their first bytes, decoded within limits. */
import { GatewayError } from "../../../../std/gateway-error.ts";
import type { FilePart, ImageSource } from "../../../contract.ts";
import type { Size } from "../options.ts";
import type { Raster, Sharp } from "../raster.ts";

export type Param = "image" | "mask" | "markup";

const mostPixels = 64_000_000;
const kinds = "'image/jpeg', 'image/png', 'image/webp', and 'image/gif'";

/** A picture that is known to be one, not yet decoded. */
export interface Upload {
  readonly param: Param;
  /** Read again for each decoding: what waits in the queue holds no file in memory. */
  readonly read: () => Promise<Uint8Array>;
  readonly kind: Kind;
  /** As it is shown, after its orientation is applied. */
  readonly size: Size;
  readonly hasAlpha: boolean;
  /** Its colours are already ours and must not be converted, so that bytes stay what they are. */
  readonly standardColours: boolean;
}

type Kind = "png" | "jpeg" | "webp" | "gif";

export async function bytesOf(source: ImageSource, param: Param): Promise<Uint8Array> {
  if (source.kind === "file") return source.file.bytes();
  if (source.kind === "url" && /^data:/i.test(source.url)) return fromDataUrl(source.url, param);
  throw new GatewayError(
    "invalid_value",
    "This model reads uploads and data: URLs; it does not fetch other URLs or file ids.",
    { param },
  );
}

function fromDataUrl(url: string, param: Param): Uint8Array {
  const comma = url.indexOf(",");
  const head = url.slice(5, Math.max(5, comma)).toLowerCase();
  if (comma < 0)
    throw new GatewayError("invalid_image_file", `The data: URL of '${param}' has no content.`, {
      param,
    });
  const body = url.slice(comma + 1);
  if (!head.split(";").includes("base64")) {
    throw new GatewayError("invalid_image_file", `The data: URL of '${param}' must be base64.`, {
      param,
    });
  }
  return Buffer.from(
    body.replace(/%2b/gi, "+").replace(/%2f/gi, "/").replace(/%3d/gi, "="),
    "base64",
  );
}

/** By magic bytes alone: SVG, PDF and the like never reach a decoder. */
function kindOf(bytes: Uint8Array): Kind | undefined {
  const starts = (at: number, text: string): boolean =>
    [...text].every((sign, i) => bytes[at + i] === sign.charCodeAt(0));
  if (starts(0, "\x89PNG\r\n\x1a\n")) return "png";
  if (starts(0, "\xff\xd8\xff")) return "jpeg";
  if (starts(0, "RIFF") && starts(8, "WEBP")) return "webp";
  return starts(0, "GIF8") ? "gif" : undefined;
}

const broken = (param: Param, cause: unknown): GatewayError => {
  const large = cause instanceof Error && /pixel limit/i.test(cause.message);
  return new GatewayError(
    "invalid_image_file",
    large
      ? `Invalid file '${param}': the picture has more than ${mostPixels / 1e6} million pixels.`
      : `Invalid file '${param}': the picture cannot be decoded.`,
    { param, cause },
  );
};

export async function inspect(
  sharp: Sharp,
  read: () => Promise<Uint8Array>,
  param: Param,
): Promise<Upload> {
  const bytes = await read();
  const kind = kindOf(bytes);
  if (kind === undefined) {
    throw new GatewayError(
      "unsupported_file_mimetype",
      `Invalid file '${param}': unsupported mimetype. Supported file formats are ${kinds}.`,
      { param },
    );
  }
  try {
    const found = await sharp(bytes, { limitInputPixels: mostPixels, failOn: "error" }).metadata();
    const turned = (found.orientation ?? 1) >= 5;
    const [width, height] = [found.width, found.pageHeight ?? found.height];
    return {
      param,
      read,
      kind,
      size: turned ? { width: height, height: width } : { width, height },
      hasAlpha: found.hasAlpha,
      standardColours: found.icc === undefined || Buffer.from(found.icc).includes("sRGB"),
    };
  } catch (cause) {
    throw broken(param, cause);
  }
}

/** Decoded to RGBA at the wanted size; at its own size not a single byte is changed. */
export async function decode(
  sharp: Sharp,
  upload: Upload,
  size: Size,
  fit: "cover" | "fill" = "cover",
): Promise<Raster> {
  try {
    const image = sharp(await upload.read(), {
      limitInputPixels: mostPixels,
      failOn: "error",
      ignoreIcc: upload.standardColours,
    }).autoOrient();
    const same = upload.size.width === size.width && upload.size.height === size.height;
    const { data, info } = await (same ? image : image.resize(size.width, size.height, { fit }))
      .toColourspace("srgb")
      .ensureAlpha()
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    if (info.width !== size.width || info.height !== size.height || info.channels !== 4) {
      throw new RangeError(`decoded to ${info.width}x${info.height}x${info.channels}`);
    }
    return { ...size, pixels: data };
  } catch (cause) {
    throw broken(upload.param, cause);
  }
}

export const markupOf = (files: readonly FilePart[]): FilePart | undefined =>
  files.find((file) => /^markup(\[\d*\])?$/.test(file.field));
