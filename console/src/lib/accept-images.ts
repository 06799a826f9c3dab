/** Which of the files that a user chose, dropped or pasted are used as images. The others are named with the reason. */

export interface ImageLimits {
  /** Such as `image/png`. */
  readonly types: readonly string[];
  readonly maxImages: number;
  /** Of all images together. */
  readonly maxBytes?: number;
}

export interface LeftOut {
  readonly reason: "format" | "count" | "bytes";
  readonly name: string;
}

export interface AcceptedImages<Image extends Blob> {
  readonly images: readonly Image[];
  /** Of the latest files. */
  readonly leftOut: readonly LeftOut[];
}

export const noImages = { images: [], leftOut: [] } as const;

export function acceptImages<Image extends Blob>(
  images: readonly Image[],
  files: Iterable<File>,
  { types, maxImages, maxBytes = Number.POSITIVE_INFINITY }: ImageLimits,
): AcceptedImages<Image | File> {
  const accepted: (Image | File)[] = [...images];
  const leftOut: LeftOut[] = [];
  let bytes = images.reduce((sum, { size }) => sum + size, 0);
  const refusal = ({ type, size }: File): LeftOut["reason"] | undefined => {
    if (!types.includes(type)) return "format";
    if (accepted.length >= maxImages) return "count";
    return bytes + size > maxBytes ? "bytes" : undefined;
  };
  for (const file of files) {
    const reason = refusal(file);
    if (reason !== undefined) {
      leftOut.push({ reason, name: file.name });
      continue;
    }
    accepted.push(file);
    bytes += file.size;
  }
  return { images: accepted, leftOut };
}
