/** An embeddings answer as OpenAI writes it. Put together by hand: a vector is thousands of signs that need no escaping. */
import type { EmbeddingsQuery, EmbeddingsReply, Vector } from "../upstream/contract.ts";
import { printNumbers, toBase64 } from "./vectors.ts";

export function writeVectors(
  { vectors, usage }: EmbeddingsReply,
  { model, encoding }: EmbeddingsQuery,
): string | Uint8Array {
  const tokens = usage?.inputTokens;
  // Where the upstream does not say, null: a made-up 0 would be a lie.
  const told = tokens === undefined ? null : `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  const end = `],"model":${JSON.stringify(model)},"usage":${told}}`;
  return encoding === "base64" ? inBase64(vectors, end) : inNumbers(vectors, end);
}

const begin = '{"object":"list","data":[';
const before = (index: number): string =>
  `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":`;

/** Straight into bytes: a string of this length costs more to make, and to turn into bytes, than all the rest. */
function inBase64(vectors: readonly Vector[], end: string): Uint8Array {
  const texts = vectors.map(toBase64);
  let length = begin.length + Buffer.byteLength(end);
  for (let at = 0; at < texts.length; at++) {
    length += before(at).length + (texts[at] as string).length + 3;
  }
  const body = Buffer.allocUnsafe(length);
  let place = body.write(begin, 0, "latin1");
  for (let at = 0; at < texts.length; at++) {
    place += body.write(`${before(at)}"`, place, "latin1");
    place += body.write(texts[at] as string, place, "latin1");
    place += body.write('"}', place, "latin1");
  }
  body.write(end, place, "utf8");
  return body;
}

const inNumbers = (vectors: readonly Vector[], end: string): string =>
  `${begin}${vectors.map((vector, at) => `${before(at)}${printNumbers(vector)}}`).join("")}${end}`;
