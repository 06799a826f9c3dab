/** Large images for tests: an upload that goes to disk, and upstream responses above the memory budget. */
import { randomFillSync } from "node:crypto";
import { fakeImage } from "../fake-upstream.ts";

/** A PNG that decodes to 64x64 pixels. `bytes`: the random bytes in a chunk that decoders ignore. */
export function largePng(bytes: number): Buffer<ArrayBuffer> {
  const small = Buffer.from(
    fakeImage("large", 0, { format: "png", width: 64, height: 64 }),
  ) as Buffer<ArrayBuffer>;
  const content = randomFillSync(Buffer.alloc(bytes + 4));
  content.write("vxLg", 0, "latin1");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(Bun.hash.crc32(content));
  const endAt = small.length - 12;
  return Buffer.concat([small.subarray(0, endAt), length, content, check, small.subarray(endAt)]);
}

interface ScriptedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const usage = {
  total_tokens: 2,
  input_tokens: 1,
  output_tokens: 1,
  input_tokens_details: { text_tokens: 1, image_tokens: 0 },
};

/** OpenAI's response with this image in it, whole or as a stream. */
export function scriptedImageResponse(
  png: Uint8Array,
  kind: "image_generation" | "image_edit",
  stream: boolean,
): ScriptedResponse {
  const b64_json = Buffer.from(png).toString("base64");
  const imageMetadata = {
    size: "1024x1024",
    quality: "low",
    background: "opaque",
    output_format: "png",
  };
  if (!stream) {
    const body = JSON.stringify({ created: 1, ...imageMetadata, data: [{ b64_json }], usage });
    return { status: 200, headers: { "content-type": "application/json" }, body };
  }
  const type = `${kind}.completed`;
  const event = JSON.stringify({ type, b64_json, created_at: 1, ...imageMetadata, usage });
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  return { status: 200, headers, body: `event: ${type}\ndata: ${event}\n\n` };
}
