/** An embeddings answer as OpenAI writes it. Put together by hand: a vector is thousands of signs that need no escaping. */
import type { EmbeddingsQuery, EmbeddingsReply, Vector } from "../upstream/contract.ts";
import { printNumbers, toBase64 } from "./vectors.ts";

export function writeVectors(
  { vectors, usage }: EmbeddingsReply,
  { model, encoding }: EmbeddingsQuery,
): string {
  const tokens = usage?.inputTokens;
  // Where the upstream does not say, null: a made-up 0 would be a lie.
  const told = tokens === undefined ? null : `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  const end = `],"model":${JSON.stringify(model)},"usage":${told}}`;
  return encoding === "base64" ? inBase64(vectors, end) : inNumbers(vectors, end);
}

const begin = '{"object":"list","data":[';
const before = (index: number): string =>
  `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":`;

/** As one string, put together without looking at it: Bun sends it without a copy, while bytes it would copy once more. */
function inBase64(vectors: readonly Vector[], end: string): string {
  let text = begin;
  for (let at = 0; at < vectors.length; at++) {
    text += `${before(at)}"${toBase64(vectors[at] as Vector)}"}`;
  }
  return text + end;
}

function inNumbers(vectors: readonly Vector[], end: string): string {
  let text = begin;
  for (let at = 0; at < vectors.length; at++) {
    text += `${before(at)}${printNumbers(vectors[at] as Vector)}}`;
  }
  return text + end;
}
