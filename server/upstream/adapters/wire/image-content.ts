/** Reads images in upstream responses: base64, a data URL or a link. */
import type { ImageContent, LoadedImage } from "../../contract.ts";
import { LongText } from "./document.ts";

/** A member of a response that should be an image. Undefined if it is not a text. */
export function imageContentIn(value: unknown): ImageContent | undefined {
  if (value instanceof LongText) return spilledImage(value);
  if (typeof value !== "string" || value === "") return undefined;
  if (/^https?:\/\//i.test(value)) return { kind: "url", url: value };
  return { kind: "base64", base64: bareBase64(value) };
}

/** A member of an event with the image itself. Whether it is a valid image is checked later. */
export function loadedImageIn(value: unknown): LoadedImage | undefined {
  if (value instanceof LongText) return spilledImage(value);
  return typeof value === "string" ? { kind: "base64", base64: bareBase64(value) } : undefined;
}

const spilledImage = (text: LongText): LoadedImage => ({
  kind: "spilled",
  spilled: text.after(prefixOf(text.start)),
});

/** Base64 without the `data:image/png;base64,` that some upstreams put before it and OpenAI's clients do not expect. */
export const bareBase64 = (text: string): string =>
  text.slice(prefixOf(Buffer.from(text.slice(0, 128))));

/** The length of a data URL's prefix; 0 if there is none. */
function prefixOf(start: Uint8Array): number {
  const text = Buffer.from(start).toString("latin1");
  return text.startsWith("data:") ? text.indexOf(",") + 1 : 0;
}
