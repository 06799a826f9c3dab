/** Invariants of every image response, for every vendor. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import type { Answer, Outcome } from "../ask.ts";

export const hashOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 16);

/** The images of a response in base64, in order. */
export function picturesIn({ body }: Answer): Uint8Array[] {
  return (body.data ?? []).map(({ b64_json, url }) => {
    expect(url).toBeUndefined();
    expect(b64_json).toBeString();
    const bytes = Buffer.from(b64_json ?? "", "base64");
    // Strictly base64: no prefix, no line breaks, nothing that a lenient reader would pass over.
    expect(bytes.toString("base64") === b64_json, `not base64: ${b64_json?.slice(0, 80)}`).toBe(
      true,
    );
    return bytes;
  });
}

/** The response has OpenAI's shape, and its metadata matches its images. */
export function expectTrue(answer: Answer, pictures: readonly Uint8Array[]): void {
  const { body, row } = answer;
  expect(Number.isSafeInteger(body.created), `created: ${body.created}`).toBe(true);
  // Seconds, and not milliseconds: between 2001 and 2096.
  expect(body.created).toBeGreaterThan(1_000_000_000);
  expect(body.created).toBeLessThan(4_000_000_000);
  expect(body.data).toHaveLength(pictures.length);
  expectFacts(body, pictures);
  if (body.usage !== undefined) expect(body.usage.total_tokens).toBeGreaterThan(0);
  expect(row).toMatchObject({ status: 200, error: null, images: pictures.length });
}

export interface Facts {
  readonly size?: string;
  readonly output_format?: string;
  readonly quality?: string;
  readonly background?: string;
}

/** One response has one metadata value for all of its images. */
export function expectFacts(facts: Facts, pictures: readonly Uint8Array[]): void {
  for (const picture of pictures) {
    const seen = sniff(picture);
    expect(seen, "a picture is no picture").toBeDefined();
    if (facts.size !== undefined) expect(facts.size).toBe(`${seen?.width}x${seen?.height}`);
    if (facts.output_format !== undefined) expect(facts.output_format).toBe(seen?.format ?? "");
  }
  expect(facts.quality).not.toBe("auto");
  expect(facts.background).not.toBe("auto");
}

/** Names in a header such as `vexel-adapted: size, n`. */
export const namesIn = ({ headers }: Outcome, header: string): string[] =>
  (headers.get(header) ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
