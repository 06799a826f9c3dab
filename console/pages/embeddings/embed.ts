/** Embeds texts with one model, through the playground endpoints of the admin API. */
import { call } from "../../api/client.ts";
import { decodeVector, normalized } from "./vectors.ts";

export interface Embedded {
  readonly model: string;
  /** Normalized, in the order of the texts. */
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
  readonly durationMs: number;
  /** US dollars. `null`: unknown. */
  readonly cost: number | null;
}

interface PlaygroundEmbeddings {
  readonly data: readonly { readonly index: number; readonly embedding: string }[];
  readonly usage: { readonly total_tokens: number };
  /** US dollars. Absent: unknown. */
  readonly cost?: number | null;
}

const chunkSize = 256;

export async function embed(
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedded> {
  const startedAt = performance.now();
  const chunks = Array.from({ length: Math.ceil(texts.length / chunkSize) }, (_, at) =>
    texts.slice(at * chunkSize, (at + 1) * chunkSize),
  );
  const vectors: Float32Array[] = [];
  let tokens = 0;
  let cost: number | null = 0;
  for (const input of chunks) {
    const response: PlaygroundEmbeddings = await call("/playground/embeddings", {
      method: "POST",
      body: { model, input, encoding_format: "base64" },
      signal,
    });
    const ordered = [...response.data].sort((a, b) => a.index - b.index);
    vectors.push(...ordered.map(({ embedding }) => normalized(decodeVector(embedding))));
    tokens += response.usage.total_tokens;
    cost = cost === null || typeof response.cost !== "number" ? null : cost + response.cost;
  }
  return { model, vectors, tokens, cost, durationMs: performance.now() - startedAt };
}
