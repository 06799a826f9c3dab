/** The options of an image model that at least one of its targets supports. */
import type { ImageModelOptions, ShownEdits } from "../../contract/admin.ts";
import type { Model } from "../config/snapshot.ts";
import type { ImageOperation, Target } from "../upstream/contract.ts";
import type { ImageCapabilities, Sizes } from "../upstream/image-capabilities.ts";

export type ImageCapabilitiesOf = (
  target: Target,
  operation: ImageOperation,
) => ImageCapabilities | undefined;

type Options = Record<string, readonly string[] | true>;

export function imageOptions(
  model: Model,
  operation: ImageOperation,
  capabilitiesOf: ImageCapabilitiesOf,
): ImageModelOptions {
  const all: Options = {
    n: Array.from({ length: model.maxImages }, (_, index) => String(index + 1)),
  };
  for (const target of model.targets) {
    const capabilities = capabilitiesOf(target, operation);
    if (capabilities) merge(all, optionsOf(capabilities));
  }
  return all;
}

/** null: no target edits images. */
export function imageEdits(model: Model, capabilitiesOf: ImageCapabilitiesOf): ShownEdits | null {
  const edits = model.targets
    .map((target) => capabilitiesOf(target, "edits")?.edits)
    .filter((found) => found !== undefined);
  if (edits.length === 0) return null;
  return {
    options: imageOptions(model, "edits", capabilitiesOf),
    max_images: Math.max(...edits.map(({ maxImages }) => maxImages)),
    mask: edits.some(({ mask }) => mask !== undefined),
  };
}

const optionsOf = ({ takes, sizes, streams }: ImageCapabilities): Options => ({
  size: sizesOf(sizes),
  ...Object.fromEntries(
    Object.entries(takes).map(([name, values]) => [name, values === "any" ? true : values]),
  ),
  ...(streams && { stream: ["true"], partial_images: ["0", "1", "2", "3"] }),
});

function sizesOf(sizes: Sizes): readonly string[] | true {
  if (sizes === "any" || "rule" in sizes) return true;
  return "list" in sizes ? sizes.list : sizes.ratios;
}

function merge(all: Options, more: Options): void {
  for (const [name, values] of Object.entries(more)) {
    const present = all[name];
    all[name] =
      values === true || present === true ? true : [...new Set([...(present ?? []), ...values])];
  }
}
