/** Fixture of the conformance tests: a gateway in front of a fake OpenAI, and the official SDK as the client. */

import OpenAI, { type ClientOptions } from "openai";
import sharp from "sharp";
import { type Fake, fakeImage, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";

export interface Arranged {
  readonly fake: Fake;
  readonly gateway: TestGateway;
  readonly client: OpenAI;
  close(): Promise<void>;
}

interface ArrangeOptions {
  readonly yaml?: (fakeUrl: string) => string;
  readonly settings?: Readonly<Record<string, string>>;
}

export function arrange({ yaml = configFor, settings = {} }: ArrangeOptions = {}): Arranged {
  const fake = startFake();
  const gateway = startGateway({ yaml: yaml(fake.url), settings });
  return {
    fake,
    gateway,
    client: clientOf(gateway),
    close: async () => {
      await gateway.close();
      fake.close();
    },
  };
}

/** Without retries, so that a test sees each failure once; tests of retries enable them. */
export const clientOf = ({ baseURL }: TestGateway, more: ClientOptions = {}): OpenAI =>
  new OpenAI({ baseURL, apiKey: testKey, maxRetries: 0, ...more });

/** A small image of one gray. */
export const grayImage = (
  message: string,
  size = 16,
  format: "png" | "jpeg" | "webp" = "png",
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(fakeImage(message, 0, { format, width: size, height: size }));

/** A mask in OpenAI's sense: opaque, with a transparent square in its middle. */
export async function maskOf(size = 16): Promise<Uint8Array<ArrayBuffer>> {
  const opaque = { r: 0, g: 0, b: 0, alpha: 1 };
  const hole = { create: { width: 4, height: 4, channels: 4, background: opaque } } as const;
  const mask = sharp({ create: { width: size, height: size, channels: 4, background: opaque } });
  return new Uint8Array(
    await mask
      .composite([{ input: hole, blend: "dest-out" }])
      .png()
      .toBuffer(),
  );
}

export const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

export const sha256Of = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** The error of a refused request; fails if it was not refused. */
export async function refusalOf<E extends Error>(
  call: PromiseLike<unknown>,
  kind: abstract new (...args: never[]) => E,
): Promise<E> {
  const thrown = await Promise.resolve(call).then(
    () => new Error("the call was expected to fail, but it worked"),
    (reason: unknown) => reason,
  );
  if (thrown instanceof kind) return thrown;
  throw thrown;
}

/** The bits of a float32 vector in memory, -0 included. */
export const bitsOf = (vector: Iterable<number>): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("hex");
