/** Fixture of the tests of built-in models: queries, targets, and a list of child processes. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { ErrorKind } from "../../contract/errors.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { BuiltInModel, EmbeddingsQuery, Target } from "../../server/upstream/contract.ts";

export const targetOf = (kind: string, options: Record<string, unknown> = {}): Target => ({
  upstream: { id: kind, kind, headers: {}, options },
  model: kind,
});

export const textQuery = (
  texts: readonly string[],
  more: Partial<EmbeddingsQuery> = {},
): EmbeddingsQuery => ({
  model: "any",
  input: { kind: "text", texts },
  single: false,
  encoding: "float",
  extraFields: {},
  ...more,
});

export const never = new AbortController().signal;

/** Embeds with a model, and requires a Float32Array. */
export async function embed(
  { embeddings }: Required<Pick<BuiltInModel, "embeddings">>,
  texts: readonly string[],
  more: Partial<EmbeddingsQuery> & { target?: Target; signal?: AbortSignal } = {},
) {
  const { target = targetOf("minilm"), signal = never, ...query } = more;
  const { vectors, usage } = await embeddings(textQuery(texts, query), target, signal);
  const floats = vectors.map((vector) => {
    if (!(vector instanceof Float32Array)) throw new Error("a vector is not a Float32Array");
    return vector;
  });
  return { vectors: floats, usage };
}

export function cosine(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    dot += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
  }
  return dot / Math.sqrt(aa * bb);
}

export async function expectError(
  promise: Promise<unknown>,
  kind: ErrorKind,
  message?: RegExp,
): Promise<GatewayError> {
  const error = await promise.then(
    () => new Error(`expected the error ${kind}, but the call succeeded`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw error;
  expect(error.kind, error.message).toBe(kind);
  // Details for the operator are in the log, not in the client's error.
  const { logDetail: logged } = error.details;
  if (message) expect(logged ?? error.message).toMatch(message);
  if (logged !== undefined) expect(error.message).not.toContain("/");
  return error;
}

/** A zombie is not alive: a process that ended still has a PID until its new parent waits for it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux") return true;
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Sentences of about ten tokens, all different. */
export function sentences(count: number): string[] {
  const words = "the quick brown fox jumps over a lazy dog while we walk home in rain".split(" ");
  return Array.from({ length: count }, (_, i) =>
    [...words.slice(i % 7, (i % 7) + 7), `number ${i}`].join(" "),
  );
}
