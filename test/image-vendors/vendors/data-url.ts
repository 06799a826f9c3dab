/** Pictures as they come to vendors that read JSON: as data URLs, and nothing else where nobody can fetch a link. */
import type { VendorResponse } from "../image-vendor.ts";

/** The type must be in small letters: some vendors insist. */
const form = /^data:image\/(?:png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/;

export function fromDataUrl(value: unknown, refusal: VendorResponse): Uint8Array {
  const [, base64] = form.exec(String(value)) ?? [];
  if (base64 === undefined) throw refusal;
  return Buffer.from(base64, "base64");
}

export const toBase64 = (picture: Uint8Array): string => Buffer.from(picture).toString("base64");
