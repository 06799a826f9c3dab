/** Small bitmaps of the images among the entries, by their place. An image that the browser cannot decode has none. */
import { useEffect, useState } from "react";
import { thumbnailSize } from "./draw-map.ts";
import { type Entry, isImage } from "./entries.ts";

export function useThumbnails(entries: readonly Entry[]): ReadonlyMap<number, ImageBitmap> {
  const [thumbnails, setThumbnails] = useState<ReadonlyMap<number, ImageBitmap>>(new Map());
  useEffect(() => {
    let isCurrent = true;
    const images = entries.flatMap((entry, at) => (isImage(entry) ? [{ at, entry }] : []));
    if (images.length === 0) return undefined;
    void Promise.all(
      images.map(async ({ at, entry }) => [at, await thumbnailOf(entry)] as const),
    ).then((made) => {
      if (!isCurrent) return;
      setThumbnails(new Map(made.flatMap(([at, image]) => (image ? [[at, image]] : []))));
    });
    return () => {
      isCurrent = false;
    };
  }, [entries]);
  return thumbnails;
}

/** The middle of the image, as a square. */
async function thumbnailOf(file: File): Promise<ImageBitmap | undefined> {
  try {
    const { width, height } = await createImageBitmap(file);
    const side = Math.min(width, height);
    const pixels = thumbnailSize * devicePixelRatio;
    return await createImageBitmap(file, (width - side) / 2, (height - side) / 2, side, side, {
      resizeWidth: pixels,
      resizeHeight: pixels,
      resizeQuality: "medium",
    });
  } catch {
    return undefined;
  }
}
