/** Embeds texts with one model, through the playground endpoints of the admin API. */
import { callRaw } from "../../api/client.ts";
import { requestIdOf } from "../../api/request-cost.ts";
import { decodeVector, normalized } from "./vectors.ts";

export interface Embedded {
  readonly model: string;
  /** Normalized, in the order of the texts. */
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
  readonly durationMs: number;
  /** One id for each request that was sent: a long list of texts is sent in several requests. */
  readonly requestIds: readonly string[];
}

interface EmbeddingsResponse {
  readonly data: readonly { readonly index: number; readonly embedding: string }[];
  readonly usage: { readonly total_tokens: number };
}

/** Texts of one request. */
const maxTexts = 256;

export async function embed(
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedded> {
  const inputs = Array.from({ length: Math.ceil(texts.length / maxTexts) }, (_, at) =>
    texts.slice(at * maxTexts, (at + 1) * maxTexts),
  );
  const vectors: Float32Array[] = [];
  const requestIds: string[] = [];
  let [tokens, durationMs] = [0, 0];
  for (const input of inputs) {
    const startedAt = performance.now();
    const response = await callRaw("/playground/embeddings", {
      method: "POST",
      body: { model, input, encoding_format: "base64" },
      signal,
    });
    const { data, usage }: EmbeddingsResponse = await response.json();
    durationMs += performance.now() - startedAt;
    const ordered = [...data].sort((a, b) => a.index - b.index);
    vectors.push(...ordered.map(({ embedding }) => normalized(decodeVector(embedding))));
    tokens += usage.total_tokens;
    requestIds.push(requestIdOf(response));
  }
  return { model, vectors, tokens, durationMs, requestIds };
}
