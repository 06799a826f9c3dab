/** Everything an edit starts from, fetched and checked before the first pixel is drawn. */
import { GatewayError } from "../../../../std/gateway-error.ts";
import type { EditQuery } from "../../../contract.ts";
import { boundedSize, type Size, type Wish } from "../options.ts";
import type { Sharp } from "../raster.ts";
import { bytesOf, inspect, markupOf, type Upload } from "./inputs.ts";
import { checkMask } from "./mask.ts";

const mostImages = 16;

export interface Materials {
  readonly images: readonly [Upload, ...Upload[]];
  readonly mask?: Upload;
  readonly markup?: Upload;
  readonly size: Size;
}

export async function gatherMaterials(
  sharp: Sharp,
  query: EditQuery,
  wish: Wish,
): Promise<Materials> {
  if (query.images.length === 0)
    throw new GatewayError("missing_parameter", "Missing required parameter: 'image'.", {
      param: "image",
    });
  if (query.images.length > mostImages) {
    throw new GatewayError(
      "invalid_value",
      `Too many images: ${query.images.length}. At most ${mostImages} can be given.`,
      { param: "image" },
    );
  }
  const overlay = markupOf(query.files);
  if (overlay !== undefined && query.mask !== undefined) {
    throw new GatewayError("invalid_value", "'markup' and 'mask' cannot be used together.", {
      param: "markup",
    });
  }
  const uploads: Upload[] = [];
  for (const source of query.images)
    uploads.push(await inspect(sharp, () => bytesOf(source, "image"), "image"));
  const [first, ...others] = uploads;
  if (first === undefined)
    throw new GatewayError("missing_parameter", "Missing required parameter: 'image'.", {
      param: "image",
    });
  const { mask: wanted } = query;
  const mask =
    wanted === undefined ? undefined : await inspect(sharp, () => bytesOf(wanted, "mask"), "mask");
  if (mask !== undefined) checkMask(mask, first.size);
  const markup =
    overlay === undefined ? undefined : await inspect(sharp, () => overlay.bytes(), "markup");
  return {
    images: [first, ...others],
    ...(mask !== undefined && { mask }),
    ...(markup !== undefined && { markup }),
    size: wish.size ?? boundedSize(first.size),
  };
}
