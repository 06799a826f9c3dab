/** Embeddings as OpenAI speaks them, and as those who speak alike do. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { EmbeddingsQuestion } from "../adapter.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  EmbeddingTraits,
  Target,
  Vector,
} from "../contract.ts";
import { wordFor } from "../purpose.ts";
import { parseAnswer } from "./embeddings-answer.ts";
import type { Place } from "./place.ts";

export const openaiEmbeddings = (place: Place, traits: EmbeddingTraits): EmbeddingsQuestion => ({
  traits: (target) => ({ ...traits, base64: takesBase64(target, traits) }),
  toUpstream: (query, target) => {
    const { url, headers } = place(target, "embeddings");
    return {
      url,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({
        ...query.rest,
        ...purposeOf(query, traits),
        model: target.model,
        input: rawInput(query),
        // Never null, never where it is not understood (BerriAI/litellm#19174).
        encoding_format: takesBase64(target, traits) ? "base64" : undefined,
        dimensions: query.dimensions,
        user: query.user,
      }),
    };
  },
  fromUpstream: async (reply, query) => readEmbeddings(await reply.text(), query),
});

/** The configuration knows its own server better than the table of kinds. */
function takesBase64({ upstream }: Target, { base64 }: EmbeddingTraits): boolean {
  return typeof upstream.options.base64 === "boolean" ? upstream.options.base64 : base64;
}

function purposeOf(
  { purpose }: EmbeddingsQuery,
  { purposes }: EmbeddingTraits,
): Record<string, string | undefined> {
  if (!purpose || purposes === "indifferent") return {};
  return purposes === "as-given"
    ? { [purpose.field]: purpose.given }
    : { [purposes.field]: wordFor(purpose, purposes) };
}

function rawInput({ input, single }: EmbeddingsQuery): unknown {
  const entries: readonly unknown[] = input.kind === "text" ? input.texts : input.tokens;
  return single ? entries[0] : entries;
}

interface Entry {
  readonly object?: unknown;
  readonly index?: unknown;
  readonly embedding?: unknown;
}

interface Answer {
  readonly object?: unknown;
  readonly data?: unknown;
  readonly model?: unknown;
  readonly usage?: { readonly prompt_tokens?: unknown; readonly total_tokens?: unknown };
}

export function readEmbeddings(text: string, query: EmbeddingsQuery): EmbeddingsReply {
  const answer = (parseAnswer(text) ?? {}) as Answer;
  const { data, usage, model } = answer;
  if (!Array.isArray(data)) throw unusable("it has no list called `data`");
  const tokens = usage?.prompt_tokens;
  const entries = data as (Entry | null)[];
  const encoding = isVerbatim(answer, entries);
  return {
    vectors: inOrder(entries, query),
    ...(isCount(tokens) && { usage: { inputTokens: tokens } }),
    ...(encoding && { verbatim: { text, model: model as string, encoding } }),
  };
}

/** Exactly what OpenAI would send, in order and with nothing added: in which encoding? */
function isVerbatim(
  answer: Answer,
  entries: readonly (Entry | null)[],
): "float" | "base64" | undefined {
  const { object, model, usage } = answer;
  if (object !== "list" || typeof model !== "string" || Object.keys(answer).length !== 4) return;
  if (!isCount(usage?.prompt_tokens) || !isCount(usage?.total_tokens)) return;
  const text = typeof entries[0]?.embedding === "string";
  const alike = entries.every(
    (entry, at) =>
      entry?.index === at &&
      entry.object === "embedding" &&
      (typeof entry.embedding === "string") === text,
  );
  return alike ? (text ? "base64" : "float") : undefined;
}

/** By `index` where every entry has one; else as they came. A doubled or missing index is no order at all. */
function inOrder(entries: readonly (Entry | null)[], query: EmbeddingsQuery): Vector[] {
  if (entries.every((entry) => entry?.index === undefined)) return entries.map(vectorOf);
  const { input } = query;
  const asked = input.kind === "text" ? input.texts.length : input.tokens.length;
  const vectors = new Array<Vector | undefined>(asked).fill(undefined);
  for (const entry of entries) {
    const index = entry?.index;
    if (!isCount(index) || index >= asked) throw unusable("an index points at no input");
    if (vectors[index] !== undefined) throw unusable("two vectors have the same index");
    vectors[index] = vectorOf(entry);
  }
  return vectors.map((vector, at) => {
    if (vector === undefined) throw unusable(`input ${at} has no vector`);
    return vector;
  });
}

function vectorOf(entry: Entry | null): Vector {
  const embedding = entry?.embedding;
  if (typeof embedding === "string" || Array.isArray(embedding)) return embedding as Vector;
  throw unusable("an entry has no `embedding`");
}

/** Some say -1 where they do not know; that is no number of anything. */
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

const unusable = (why: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's answer is not usable: ${why}.`);
