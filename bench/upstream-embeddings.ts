/**
 * The embeddings endpoint of the bench's upstream: immediate, or with a limited number of slots and a fixed latency.
 */

import { numbersModel } from "./scenarios.ts";
import { numberTexts, vectors } from "./vectors.ts";

export const headers = {
  "content-type": "application/json",
  "access-control-expose-headers": "X-Request-ID",
  "openai-model": "text-embedding-3-small",
  "openai-organization": "org-bench",
  "openai-processing-ms": "23",
  "openai-version": "2020-10-01",
  "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
  "x-ratelimit-limit-requests": "5000",
  "x-ratelimit-limit-tokens": "1000000",
  "x-ratelimit-remaining-requests": "4999",
  "x-ratelimit-remaining-tokens": "999990",
  "x-ratelimit-reset-requests": "12ms",
  "x-ratelimit-reset-tokens": "0s",
  "x-request-id": "req_bench0123456789abcdef01234567",
};

interface EmbeddingsBody {
  readonly model: string;
  readonly input: string | readonly string[];
  readonly encoding_format?: string;
}

const tokensEach = 9;
const imageTokens = 600;
/** Serialized once: the upstream shares its core with the load, and must not be the bottleneck. */
const written = new Map<string, Uint8Array>();

function responseBody(model: string, count: number, inNumbers: boolean): Uint8Array {
  const name = `${model} ${count} ${inNumbers}`;
  const existing = written.get(name);
  if (existing) return existing;
  const texts = inNumbers ? numberTexts() : vectors.map((vector) => JSON.stringify(vector));
  const data = Array.from(
    { length: count },
    (_, index) =>
      `{"object":"embedding","index":${index},"embedding":${texts[index % texts.length]}}`,
  );
  const tokens = count * tokensEach;
  const usage = JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens });
  const bytes = Buffer.from(
    `{"object":"list","data":[${data.join(",")}],"model":${JSON.stringify(model)},"usage":${usage}}`,
  );
  written.set(name, bytes);
  return bytes;
}

export async function respondImmediately(request: Request): Promise<Response> {
  const { model, input, encoding_format } = (await request.json()) as EmbeddingsBody;
  const inNumbers = model === numbersModel || encoding_format === "float";
  // The gateway must request base64, and never requests floats; any other format would be another measurement.
  if (!inNumbers && encoding_format !== "base64")
    return new Response("not base64", { status: 400 });
  const count = typeof input === "string" ? 1 : input.length;
  return new Response(responseBody(model, count, inNumbers), { headers });
}

const imageType = Buffer.from('"type":"image_url"');

/** As Cohere responds. The body is not parsed, so that it is read as fast as possible. */
export async function embedImages(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer());
  let images = 0;
  for (let at = body.indexOf(imageType); at >= 0; at = body.indexOf(imageType, at + 1)) images++;
  const base64 = Array.from({ length: images }, (_, index) => vectors[index % vectors.length]);
  return Response.json({
    id: "bench",
    embeddings: { base64 },
    meta: { billed_units: { image_tokens: images * imageTokens, images } },
  });
}

type Handler = (request: Request) => Promise<Response>;

/**
 * Processes up to `slots` requests at a time, each for `ms` whatever its number of inputs; other requests queue (FIFO).
 */
export function respondInSlots({ slots, ms }: { slots: number; ms: number }): Handler {
  const queue: (() => void)[] = [];
  let admitted = 0;
  const enter = (): Promise<void> => {
    admitted++;
    return admitted <= slots ? Promise.resolve() : new Promise((resolve) => queue.push(resolve));
  };
  return async (request) => {
    await enter();
    try {
      await Bun.sleep(ms);
      return await respondImmediately(request);
    } finally {
      admitted--;
      queue.shift()?.();
    }
  };
}

/** The request counts of the upstream. */
interface RequestCounts {
  readonly completed: number;
  /** Requests in flight, whether or not their clients are still connected. */
  readonly inFlight: number;
}

export function createRequestCounter(): {
  readonly read: () => RequestCounts;
  count(handler: Handler): Handler;
} {
  let [completed, inFlight] = [0, 0];
  return {
    read: () => ({ completed, inFlight }),
    count: (handler) => async (request) => {
      inFlight++;
      try {
        return await handler(request);
      } finally {
        inFlight--;
        completed++;
      }
    },
  };
}

export async function readRequestCounts(upstream: string): Promise<RequestCounts> {
  const response = await fetch(`${upstream}/counts`);
  return (await response.json()) as RequestCounts;
}
