/** Embeds texts with one model, through the playground endpoints of the admin API. */
import { callRaw } from "../../api/client.ts";
import { requestIdOf } from "../../api/request-cost.ts";
import { VectorSet } from "./vector-set.ts";

export interface Embedded {
  readonly model: string;
  /** In the order of the texts. */
  readonly vectors: VectorSet;
  readonly dimensions: number;
  /** The similarity of every pair of texts, row by row. */
  readonly matrix: Float32Array;
  readonly tokens: number;
  readonly durationMs: number;
  /** One id for each request that was sent: a long list of texts is sent in several requests. */
  readonly requestIds: readonly string[];
}

/** Texts of one request. */
const maxTexts = 256;

export async function embed(
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedded> {
  const vectors = new VectorSet();
  try {
    const inputs = Array.from({ length: Math.ceil(texts.length / maxTexts) }, (_, at) =>
      texts.slice(at * maxTexts, (at + 1) * maxTexts),
    );
    const requestIds: string[] = [];
    let [tokens, durationMs] = [0, 0];
    for (const input of inputs) {
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
    }
    const similarities = await vectors.call("similarities", null);
    return { model, vectors, ...similarities, tokens, durationMs, requestIds };
  } catch (error) {
    vectors.close();
    throw error;
  }
}
