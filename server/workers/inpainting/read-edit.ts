/** Reads an edit request for MI-GAN: one image, one mask, one result. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { EditQuery, ImageSource } from "../../upstream/contract.ts";
import { formats, type InpaintRequest } from "./messages.ts";

export async function readEdit({
  images,
  mask,
  files,
  options,
}: EditQuery): Promise<InpaintRequest> {
  const [image, another] = images;
  if (!image) throw missingParameter("image");
  if (another) throw invalidValue("This model edits one image at a time.", "image");
  if (!mask)
    throw missingParameter("mask", "Its fully transparent areas mark what this model fills.");
  const other = files[0]?.field;
  if (other !== undefined) {
    const message = `Unknown parameter: '${other}'.`;
    throw new GatewayError("unknown_parameter", message, { param: other });
  }
  if ((options.n ?? 1) !== 1)
    throw invalidValue("This model generates one image per request.", "n");
  if (options.background === "transparent") {
    const message = "This model cannot generate a transparent background.";
    throw new GatewayError("transparency_unsupported", message, { param: "background" });
  }
  const format = formats.find((name) => name === (options.output_format ?? "png"));
  if (!format) throw invalidValue(`This model gives ${formats.join(", ")}.`, "output_format");
  const quality = options.output_compression ?? 100;
  if (!Number.isInteger(quality) || quality < 0 || quality > 100) {
    throw invalidValue("A whole number from 0 to 100 is expected.", "output_compression");
  }
  if (format === "png" && quality !== 100) {
    throw invalidValue("PNG has no lossy compression: use jpeg or webp.", "output_compression");
  }
  const { size } = options;
  return {
    image: await readSource(image, "image"),
    mask: await readSource(mask, "mask"),
    ...(size !== undefined && size !== "auto" && { size }),
    format,
    quality,
  };
}

async function readSource(source: ImageSource, param: "image" | "mask"): Promise<Uint8Array> {
  // Copied: Bun's IPC would send the whole buffer that a view is part of.
  if (source.kind === "file") return new Uint8Array(await source.file.bytes());
  const inline = source.kind === "url" && /^data:image\/[\w.+-]+;base64,/.exec(source.url);
  if (!inline) {
    throw invalidValue("This model reads uploaded files and base64 data: URLs only.", param);
  }
  return new Uint8Array(Buffer.from(inline.input.slice(inline[0].length), "base64"));
}

const invalidValue = (message: string, param: string) =>
  new GatewayError("invalid_value", message, { param });

const missingParameter = (param: string, hint = "") =>
  new GatewayError("missing_parameter", `Missing required parameter: '${param}'. ${hint}`.trim(), {
    param,
  });
