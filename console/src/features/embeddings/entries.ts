/** What the playground embeds: texts and images. One entry gives one vector. */
import type { ImageLimits } from "../../lib/accept-images.ts";

export type Entry = string | File;

/** The text, or the file name of the image. */
export const nameOf = (entry: Entry): string => (typeof entry === "string" ? entry : entry.name);

export const isImage = (entry: Entry): entry is File => typeof entry !== "string";

/** The formats and the number are those of a request; its bytes are one text in the browser's memory. */
export const imageLimits: ImageLimits = {
  types: ["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif"],
  maxImages: 256,
  maxBytes: 100_000_000,
};

/** An entry of `input` of the embeddings API. An image is sent as it is. */
export const inputOf = async (entry: Entry): Promise<string | { readonly image: string }> =>
  isImage(entry) ? { image: await dataUrl(entry) } : entry;

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
