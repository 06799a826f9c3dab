/** The image endpoints of the bench's upstream: immediate, as links, large ones concurrently, and slow edits. */

import { crc32 } from "node:zlib";
import {
  eventWith,
  largeImage,
  largeKinds,
  photoImage,
  responseWith,
  usualImage,
} from "./sample-images.ts";
import { edits, largeResponses } from "./scenarios.ts";
import { headers as embeddingHeaders } from "./upstream-embeddings.ts";

type Handler = (request: Request) => Promise<Response>;

const headers = { ...embeddingHeaders, "openai-model": "gpt-image-2" };

/** Serialized at the first request: the upstream shares its core with the load, and must not be the bottleneck. */
function respondOnceWritten(
  write: (request: Request) => string,
  responseHeaders = headers,
): Handler {
  let body: Uint8Array | undefined;
  return async (request) => {
    body ??= Buffer.from(write(request));
    await request.arrayBuffer();
    return new Response(body, { headers: responseHeaders });
  };
}

const inBase64 = (image: Buffer) => ({ b64_json: image.toString("base64") });

export const respondWithImage = respondOnceWritten(() =>
  responseWith(inBase64(usualImage()), "usual"),
);

export const respondWithPhoto = respondOnceWritten(() =>
  responseWith(inBase64(photoImage()), "photo"),
);

/** A link to `serveImage` of this upstream. */
export const respondWithLink = respondOnceWritten(({ url }) =>
  responseWith({ url: new URL("/image.png", url).href }, "usual"),
);

export const serveImage: Handler = async () =>
  new Response(usualImage(), { headers: { "content-type": "image/png" } });

const eventHeaders = { ...headers, "content-type": "text/event-stream; charset=utf-8" };

const streamed = Array.from({ length: largeKinds }, (_, kind) =>
  respondOnceWritten(() => eventWith(inBase64(largeImage(kind)), "large"), eventHeaders),
);

const large = Array.from({ length: largeKinds }, (_, kind) =>
  respondOnceWritten(() => responseWith(inBase64(largeImage(kind)), "large")),
);

/**
 * The number in the prompt selects the image. The delay makes sure that all requests are in flight before the first
 * response.
 */
export const respondWithLargeImage: Handler = async (request) => {
  const { prompt, stream } = (await request.clone().json()) as { prompt: string; stream?: boolean };
  const respond = (stream ? streamed : large)[Number(/\d+/.exec(prompt)) % largeKinds];
  if (!respond) return new Response("no such image", { status: 400 });
  await Bun.sleep(largeResponses.generationMs);
  return respond(request);
};

/** Bytes per millisecond and upload: slow enough that a proxy without backpressure must buffer. */
const bytesPerMs = 16_000;

/** Bytes of a request that is read slowly. */
const slowFrom = 10_000_000;

const pngStart = Buffer.from("\x89PNG", "latin1");
const formEnd = Buffer.from("\r\n--");

const editsAtOnce = respondOnceWritten(() => responseWith(inBase64(usualImage()), "usual"));

/** Slowly for a large image: the response has the checksum of the uploaded image. */
export const acceptEdit: Handler = async (request) => {
  if (Number(request.headers.get("content-length") ?? Number.NaN) < slowFrom) {
    return editsAtOnce(request);
  }
  const started = performance.now();
  const sum = createChecksum();
  let received = 0;
  for await (const bytes of request.body ?? []) {
    received += bytes.length;
    sum.add(bytes);
    const early = received / bytesPerMs - (performance.now() - started);
    if (early > 2) await Bun.sleep(early);
  }
  const isComplete = received > edits.megabytes * 1_000_000;
  const entry = inBase64(usualImage());
  return new Response(
    isComplete
      ? responseWith(entry, "usual", { image_sum: sum.read() })
      : `only ${received} bytes were received`,
    { status: isComplete ? 200 : 400, headers },
  );
};

/** The CRC-32 from the first byte of the image to the end of its form part, without the closing boundary. */
function createChecksum(): { add(bytes: Uint8Array): void; read(): number } {
  let [sum, begun] = [0, false];
  // Bytes that may belong to the closing boundary are held back.
  let lastBytes: Buffer = Buffer.alloc(0);
  const lineBytes = 256;
  return {
    add: (bytes) => {
      const joined = Buffer.concat([lastBytes, bytes]);
      const start = begun ? 0 : joined.indexOf(pngStart);
      begun ||= start >= 0;
      const until = Math.max(0, joined.length - lineBytes);
      if (begun) sum = crc32(joined.subarray(start, Math.max(start, until)), sum);
      lastBytes = joined.subarray(begun ? Math.max(start, until) : until);
    },
    read: () => crc32(lastBytes.subarray(0, lastBytes.lastIndexOf(formEnd)), sum),
  };
}
