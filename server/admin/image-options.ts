/** The options of an image model: those that at least one of its targets supports. */
import type { ShownModel } from "../../contract/admin.ts";
import type { Model } from "../config/snapshot.ts";
import type { Target } from "../upstream/contract.ts";
import type { ImageCapabilities, Sizes } from "../upstream/image-capabilities.ts";

export type CapabilitiesOf = (
  target: Target,
  operation: "generations" | "edits",
) => ImageCapabilities | undefined;

type Options = Record<string, readonly string[] | true>;

export function imageOptions(model: Model, capabilitiesOf: CapabilitiesOf): ShownModel["options"] {
  const all: Options = {
    n: Array.from({ length: model.maxImages }, (_, index) => String(index + 1)),
  };
  for (const target of model.targets) {
    const capabilities = capabilitiesOf(target, "generations");
    if (capabilities) merge(all, optionsOf(capabilities));
  }
  return all;
}

const optionsOf = ({ takes, sizes, streams }: ImageCapabilities): Options => ({
  size: sizesOf(sizes),
  ...Object.fromEntries(
    Object.entries(takes).map(([name, values]) => [name, values === "any" ? true : values]),
  ),
  ...(streams && { stream: ["true"], partial_images: ["0", "1", "2", "3"] }),
});

function sizesOf(sizes: Sizes): readonly string[] | true {
  return typeof sizes === "object" && "list" in sizes ? sizes.list : true;
}

function merge(all: Options, more: Options): void {
  for (const [name, values] of Object.entries(more)) {
    const present = all[name];
    all[name] =
      values === true || present === true ? true : [...new Set([...(present ?? []), ...values])];
  }
}
