/** Embeds texts and images with one model, through the playground endpoints of the admin API. */
import { callRaw } from "../../api/client.ts";
import { requestIdOf } from "../../api/request-cost.ts";
import { type Entry, inputOf } from "./entries.ts";
import { VectorSet } from "./vector-set.ts";

export interface Embedded {
  readonly model: string;
  /** In the order of the entries. */
  readonly vectors: VectorSet;
  readonly dimensions: number;
  /** The similarity of every pair of entries, row by row. */
  readonly matrix: Float32Array;
  /** The matrix as an image. */
  readonly pixels: Uint32Array<ArrayBuffer>;
  readonly tokens: number;
  readonly durationMs: number;
  /** One id for each request that was sent: a long list is sent in several requests. */
  readonly requestIds: readonly string[];
}

/** Of one request. */
const maxEntries = 128;

/** `onProgress`: called with the number of entries that have been embedded. */
export async function embed(
  model: string,
  entries: readonly Entry[],
  signal: AbortSignal,
  onProgress: (embedded: number) => void,
): Promise<Embedded> {
  const vectors = new VectorSet();
  try {
    const requests = Array.from({ length: Math.ceil(entries.length / maxEntries) }, (_, at) =>
      entries.slice(at * maxEntries, (at + 1) * maxEntries),
    );
    const requestIds: string[] = [];
    let [embedded, tokens, durationMs] = [0, 0, 0];
    for (const sent of requests) {
      const input = await Promise.all(sent.map(inputOf));
      const startedAt = performance.now();
      const response = await callRaw("/playground/embeddings", {
        method: "POST",
        body: { model, input, encoding_format: "base64" },
        signal,
      });
      const body = await response.arrayBuffer();
      durationMs += performance.now() - startedAt;
      tokens += await vectors.call("add", body);
      requestIds.push(requestIdOf(response));
      embedded += sent.length;
      onProgress(embedded);
    }
    const similarities = await vectors.call("similarities", null);
    return { model, vectors, ...similarities, tokens, durationMs, requestIds };
  } catch (error) {
    vectors.close();
    throw error;
  }
}
