/** Invariants of every image response, for every vendor. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import type { SuccessOutcome, VendorOutcome } from "../send-request.ts";

export const hashOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 16);

/** The images of a response in base64, in order. */
export function imagesIn({ body }: SuccessOutcome): Uint8Array[] {
  return (body.data ?? []).map(({ b64_json, url }) => {
    expect(url).toBeUndefined();
    expect(b64_json).toBeString();
    const bytes = Buffer.from(b64_json ?? "", "base64");
    // Strictly base64: no prefix, no line breaks, nothing that a lenient decoder would ignore.
    expect(bytes.toString("base64") === b64_json, `not base64: ${b64_json?.slice(0, 80)}`).toBe(
      true,
    );
    return bytes;
  });
}

/** The response has OpenAI's shape, and its metadata matches its images. */
export function expectConsistent(response: SuccessOutcome, images: readonly Uint8Array[]): void {
  const { body, row } = response;
  expect(Number.isSafeInteger(body.created), `created: ${body.created}`).toBe(true);
  // Seconds, and not milliseconds: between 2001 and 2096.
  expect(body.created).toBeGreaterThan(1_000_000_000);
  expect(body.created).toBeLessThan(4_000_000_000);
  expect(body.data).toHaveLength(images.length);
  expectMetadata(body, images);
  if (body.usage !== undefined) expect(body.usage.total_tokens).toBeGreaterThan(0);
  expect(row).toMatchObject({ status: 200, error: null, images: images.length });
}

export interface ImageMetadata {
  readonly size?: string;
  readonly output_format?: string;
  readonly quality?: string;
  readonly background?: string;
}

/** One response has one metadata value for all of its images. */
export function expectMetadata(metadata: ImageMetadata, images: readonly Uint8Array[]): void {
  for (const image of images) {
    const actual = sniff(image);
    expect(actual, "the bytes are not an image").toBeDefined();
    if (metadata.size !== undefined)
      expect(metadata.size).toBe(`${actual?.width}x${actual?.height}`);
    if (metadata.output_format !== undefined)
      expect(metadata.output_format).toBe(actual?.format ?? "");
  }
  expect(metadata.quality).not.toBe("auto");
  expect(metadata.background).not.toBe("auto");
}

/** Names in a header such as `vexel-adapted: size, n`. */
export const namesIn = ({ headers }: VendorOutcome, header: string): string[] =>
  (headers.get(header) ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
