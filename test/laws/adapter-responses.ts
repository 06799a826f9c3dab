/** Upstream responses, valid and malformed, and the client's response to each. */
import fc from "fast-check";
import { embeddingsEndpoint } from "../../server/api/embeddings.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { verifyEmbeddings, verifyImages } from "../../server/pipeline/verify-response.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { ImageAdapter, UpstreamResponse } from "../../server/upstream/adapter.ts";
import type {
  EmbeddingsQuery,
  GenerationQuery,
  ImageResponse,
  StreamedImage,
  Target,
} from "../../server/upstream/contract.ts";
import { fakeImage } from "../fake-upstream.ts";
import {
  anything,
  type ResponseOptions,
  type Subject,
  upstreamResponseOf,
  webUrls,
} from "./adapter-cases.ts";

export const embeddingsQuery = (
  count: number,
  encoding: "float" | "base64" = "float",
): EmbeddingsQuery => ({
  model: "public-model",
  input: { kind: "text", texts: Array.from({ length: count }, (_, i) => `text ${i}`) },
  single: false,
  encoding,
  extraFields: {},
});
export const generationQuery: GenerationQuery = {
  model: "public-model",
  prompt: "an otter",
  stream: false,
  options: {},
  extraFields: {},
};

/** The gateway error, or undefined if the response was accepted. Any other exception is a bug. */
export async function errorKindOf(
  doing: () => Promise<unknown>,
): Promise<GatewayError | undefined> {
  try {
    await doing();
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== "internal") return error;
    throw error;
  }
}

/** The events of an upstream that streams. */
export async function drain(response: ImageResponse): Promise<StreamedImage[]> {
  const events = response.kind === "stream" ? await Array.fromAsync(response.events) : [];
  return events.filter((event) => event.type !== "buffered");
}

/** Parses a body as the response to each operation of the adapter. */
export async function readAll(
  { adapter, target }: Subject,
  body: string | Uint8Array,
  options: ResponseOptions = {},
): Promise<void> {
  const response = () => upstreamResponseOf(body, options);
  const edit = { ...generationQuery, images: [], files: [] };
  await errorKindOf(async () => {
    const query = embeddingsQuery(2);
    verifyEmbeddings(
      await adapter.embeddings!.fromUpstream(response(), query, target),
      query,
      undefined,
    );
  });
  const { generations, edits } = adapter;
  if (!generations || !edits) return;
  await errorKindOf(async () =>
    drain(verifyImages(await readImages(generations, response(), generationQuery, target))),
  );
  await errorKindOf(async () =>
    drain(verifyImages(await readImages(edits, response(), edit, target))),
  );
}

/** Of an adapter without job polling, with a body that fits into memory. */
export async function readImages<Q extends GenerationQuery>(
  adapter: ImageAdapter<Q>,
  response: UpstreamResponse,
  query: Q,
  target: Target,
): Promise<ImageResponse> {
  const read = await adapter.fromUpstream(response, { query, target, temp: noRequestTemp });
  if (read.kind === "pending") throw new Error("it said that it was not done");
  return read;
}

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
/** Vectors of one length, none of them all zeros. */
export const matrices = (maxRows = 5): fc.Arbitrary<Float32Array[]> =>
  fc
    .tuple(fc.integer({ min: 1, max: maxRows }), fc.integer({ min: 1, max: 16 }))
    .chain(([rows, columns]) =>
      fc.array(
        fc
          .array(float32, { minLength: columns, maxLength: columns })
          .filter((row) => row.some((number) => number !== 0))
          .map((row) => Float32Array.from(row)),
        { minLength: rows, maxLength: rows },
      ),
    );

export const bits = (vector: ArrayLike<number>): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("hex");
export const numbers = (vector: Float32Array): string =>
  `[${Array.from(vector, (n) => (Object.is(n, -0) ? "-0" : String(n))).join(",")}]`;
const packed = (vector: Float32Array): string => Buffer.from(vector.buffer).toString("base64");
export const asText = (vector: Float32Array, as: "float" | "base64"): string =>
  as === "float" ? numbers(vector) : `"${packed(vector)}"`;

export const responseOf = (entries: readonly string[], more = ""): string =>
  `{"object":"list","data":[${entries.join(",")}],"model":"m"${more}}`;
export const entryOf = (vector: string, index: number | undefined): string =>
  `{"object":"embedding",${index === undefined ? "" : `"index":${index},`}"embedding":${vector}}`;

const { write } = embeddingsEndpoint({ maxInputs: 2048 });

/** Through the adapter, the verify stage and the endpoint: the client's response. */
export async function deliver({ adapter, target }: Subject, body: string, query: EmbeddingsQuery) {
  const response = await adapter.embeddings!.fromUpstream(upstreamResponseOf(body), query, target);
  const written = await write(
    verifyEmbeddings(response, query, undefined),
    query,
    undefined as never,
  );
  if (written.kind !== "buffered") throw new Error("embeddings do not leave as a stream");
  const { body: sent } = written;
  if (typeof sent === "object" && "open" in sent) throw new Error("vectors are not on disk");
  const parts = typeof sent === "string" ? [sent] : sent;
  const text = parts instanceof Uint8Array ? Buffer.from(parts).toString() : parts.join("");
  return JSON.parse(text) as {
    data: { index: number; embedding: number[] | string }[];
    usage: { prompt_tokens: number };
  };
}

export const encodings = fc.constantFrom("float" as const, "base64" as const);
const image = Buffer.from(fakeImage("x", 0, { format: "png", width: 8, height: 8 }));
export const images = fc
  .uint8Array({ maxLength: 30 })
  .map((more) => Buffer.concat([image, more]).toString("base64"));

/** Responses that are valid except for one member, each member in turn. */
export const malformedResponses = fc.oneof(
  anything,
  fc.record(
    {
      data: fc.oneof(
        anything,
        fc.array(
          fc.oneof(
            anything,
            fc.record(
              {
                index: fc.oneof(anything, fc.nat(3)),
                embedding: fc.oneof(anything, fc.array(fc.oneof(fc.double(), anything))),
                b64_json: fc.oneof(anything, images),
                url: fc.oneof(anything, webUrls),
                revised_prompt: anything,
                object: anything,
              },
              { requiredKeys: [] },
            ),
          ),
          { maxLength: 4 },
        ),
      ),
      usage: fc.oneof(
        anything,
        fc.record(
          { prompt_tokens: anything, total_tokens: anything, input_tokens: anything },
          { requiredKeys: [] },
        ),
      ),
      created: anything,
      object: fc.oneof(anything, fc.constant("list")),
      model: anything,
      size: anything,
      error: anything,
    },
    { requiredKeys: [] },
  ),
);

export const oddEvents = fc.oneof(
  anything,
  fc.record(
    {
      type: fc.oneof(
        anything,
        fc.constantFrom("image_generation.completed", "image_edit.partial_image", "error"),
      ),
      b64_json: fc.oneof(anything, images),
      created_at: anything,
      partial_image_index: anything,
      usage: anything,
      error: anything,
      size: anything,
    },
    { requiredKeys: [] },
  ),
);
export const eventStream = { "content-type": "text/event-stream" };
export const cuts = fc.array(fc.nat(4000), { maxLength: 12 });
