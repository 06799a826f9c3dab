/** The inputs of an edit, inspected and checked before anything is drawn. */
import { boundedSize, type DrawOptions, type Size } from "../options.ts";
import type { Sharp } from "../raster/raster.ts";
import type { EditSources } from "../request.ts";
import { SketchError } from "../sketch-error.ts";
import { checkMask } from "./mask.ts";
import { inspect, type Upload } from "./uploads.ts";

const maxImages = 16;

export interface EditInputs {
  readonly images: readonly [Upload, ...Upload[]];
  readonly mask?: Upload;
  readonly markup?: Upload;
  readonly size: Size;
}

export async function readEditInputs(
  sharp: Sharp,
  sources: EditSources,
  options: DrawOptions,
): Promise<EditInputs> {
  checkSources(sources);
  const uploads: Upload[] = [];
  for (const source of sources.images) uploads.push(await inspect(sharp, source, "image"));
  const [first, ...others] = uploads;
  if (first === undefined) throw missingImage();
  const mask = sources.mask && (await inspect(sharp, sources.mask, "mask"));
  if (mask !== undefined) checkMask(mask, first.size);
  const markup = sources.markup && (await inspect(sharp, sources.markup, "markup"));
  return {
    images: [first, ...others],
    ...(mask !== undefined && { mask }),
    ...(markup !== undefined && { markup }),
    size: options.size ?? boundedSize(first.size),
  };
}

function checkSources({ images, mask, markup }: EditSources): void {
  if (images.length === 0) throw missingImage();
  if (images.length > maxImages) {
    throw new SketchError(
      "invalid_value",
      `Too many images: ${images.length}. At most ${maxImages} can be given.`,
      { param: "image" },
    );
  }
  if (markup !== undefined && mask !== undefined) {
    throw new SketchError("invalid_value", "'markup' and 'mask' cannot be used together.", {
      param: "markup",
    });
  }
}

const missingImage = (): SketchError =>
  new SketchError("missing_parameter", "Missing required parameter: 'image'.", { param: "image" });
