/** Reads an edit as MI-GAN can do it: one picture, one mask, one result. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { EditQuery, ImageSource } from "../../upstream/contract.ts";
import { formats, type InpaintAsk } from "./ask.ts";

export async function readEdit({ images, mask, files, options }: EditQuery): Promise<InpaintAsk> {
  const [image, another] = images;
  if (!image) throw missing("image");
  if (another) throw refused("This model edits one image at a time.", "image");
  if (!mask) throw missing("mask", "Its fully transparent areas say what this model fills.");
  const other = files[0]?.field;
  if (other !== undefined) {
    const message = `Unknown parameter: '${other}'.`;
    throw new GatewayError("unknown_parameter", message, { param: other });
  }
  if ((options.n ?? 1) !== 1) throw refused("This model makes one picture at a time.", "n");
  if (options.background === "transparent") {
    const message = "This model cannot make a transparent background.";
    throw new GatewayError("transparency_unsupported", message, { param: "background" });
  }
  const format = formats.find((name) => name === (options.output_format ?? "png"));
  if (!format) throw refused(`This model gives ${formats.join(", ")}.`, "output_format");
  const quality = options.output_compression ?? 100;
  if (!Number.isInteger(quality) || quality < 0 || quality > 100) {
    throw refused("A whole number from 0 to 100 is expected.", "output_compression");
  }
  if (format === "png" && quality !== 100) {
    throw refused("PNG has no lossy compression: ask for jpeg or webp.", "output_compression");
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
    throw refused("This model reads uploaded files and base64 data: URLs only.", param);
  }
  return new Uint8Array(Buffer.from(inline.input.slice(inline[0].length), "base64"));
}

const refused = (message: string, param: string) =>
  new GatewayError("invalid_value", message, { param });

const missing = (param: string, why = "") =>
  new GatewayError("missing_parameter", `Missing required parameter: '${param}'. ${why}`.trim(), {
    param,
  });
