/** Reads images from JSON requests: only data URLs, because the fakes cannot download links. */
import type { VendorResponse } from "../image-vendor.ts";

/** The type must be in small letters: some vendors insist. */
const form = /^data:image\/(?:png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/;

export function fromDataUrl(value: unknown, refusal: VendorResponse): Uint8Array {
  const [, base64] = form.exec(String(value)) ?? [];
  if (base64 === undefined) throw refusal;
  return Buffer.from(base64, "base64");
}

export const toBase64 = (image: Uint8Array): string => Buffer.from(image).toString("base64");
