/** A converted or downloaded image in the form of an uploaded file. */
import { extensionOf } from "../../lib/sniff-image.ts";
import type { CollectedImage } from "../../upstream/collect-image.ts";
import type { FilePart } from "../../upstream/contract.ts";

/** The file extension matches the type, because some upstreams rely on it. */
export function toFilePart(
  image: CollectedImage,
  { field, filename }: Pick<FilePart, "field" | "filename">,
  type: string,
): FilePart {
  const stem = filename.replace(/\.[^.]*$/, "") || "image";
  const named = { field, filename: `${stem}.${extensionOf(type)}`, type };
  if (image.kind === "bytes") {
    const { bytes } = image;
    return {
      ...named,
      size: bytes.length,
      stream: () => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream(),
      bytes: async () => bytes,
    };
  }
  const { spilled } = image;
  return {
    ...named,
    size: spilled.length,
    ...(spilled.path !== undefined && { path: spilled.path }),
    keepOpen: () => spilled.keepOpen?.(),
    stream: () => spilled.stream(),
    bytes: () => spilled.bytes(),
  };
}
