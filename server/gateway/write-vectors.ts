/** An embeddings answer as OpenAI writes it. Put together by hand: a vector is thousands of signs that need no escaping. */
import { mostBytes, printFloats } from "../std/numbers/digits.ts";
import { EncodedVector } from "../std/numbers/encoded-vector.ts";
import type { EmbeddingsQuery, EmbeddingsReply, Vector } from "../upstream/contract.ts";
import type { Part, Parts } from "./endpoint.ts";
import { floatsOf, lengthOf, toBase64 } from "./vectors.ts";

const entry = (index: number): string => `{"object":"embedding","index":${index},"embedding":`;
const begin = `{"object":"list","data":[${entry(0)}`;

function endOf({ usage }: EmbeddingsReply, model: string): string {
  const tokens = usage?.inputTokens;
  // Where the upstream does not say, null: a made-up 0 would be a lie.
  const told = tokens === undefined ? null : `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  return `],"model":${JSON.stringify(model)},"usage":${told}}`;
}

/** Of one vector at least. In parts: joining them would copy each vector once more, and most answers are small enough to leave without that. */
export function inBase64(reply: EmbeddingsReply, { model }: Pick<EmbeddingsQuery, "model">): Parts {
  const { vectors } = reply;
  const parts: Part[] = [`${begin}"`];
  for (let at = 0; at < vectors.length; at++) {
    if (at > 0) parts.push(`"},${entry(at)}"`);
    const vector = vectors[at] as Vector;
    parts.push(vector instanceof EncodedVector ? vector.view() : toBase64(vector));
  }
  parts.push(`"}${endOf(reply, model)}`);
  return parts;
}

/** The same in numbers, printed to where they leave from. All of its memory is its own. */
export function inNumbers(
  reply: EmbeddingsReply,
  { model }: Pick<EmbeddingsQuery, "model">,
): Buffer<ArrayBuffer> {
  const vectors = reply.vectors.map(printable);
  const end = `}${endOf(reply, model)}`;
  let room = Buffer.byteLength(end);
  for (let at = 0; at < vectors.length; at++) {
    const vector = vectors[at] as Printable;
    room += begin.length + entry(at).length;
    room += typeof vector === "string" ? vector.length : mostBytes(lengthOf(vector));
  }
  // What is never written to costs nothing.
  const answer = Buffer.allocUnsafeSlow(room);
  let to = answer.write(begin, "latin1");
  for (let at = 0; at < vectors.length; at++) {
    if (at > 0) to += answer.write(`},${entry(at)}`, to, "latin1");
    const vector = vectors[at] as Printable;
    if (typeof vector === "string") to += answer.write(vector, to, "latin1");
    else to = printFloats(numbersOf(vector), answer, to);
  }
  to += answer.write(end, to);
  return answer.subarray(0, to);
}

type Printable = string | Float32Array | EncodedVector;

/** Numbers that came as such may be more than float32 holds, and are told as they came. */
function printable(vector: Vector): Printable {
  if (vector instanceof EncodedVector || vector instanceof Float32Array) return vector;
  const numbers = floatsOf(vector) ?? [];
  if (numbers instanceof Float32Array) return numbers;
  // JSON has a negative zero; JavaScript prints none.
  return numbers.includes(0)
    ? `[${numbers.map((number) => (Object.is(number, -0) ? "-0" : String(number))).join(",")}]`
    : JSON.stringify(numbers);
}

/** To be printed at once. */
function numbersOf(vector: Float32Array | EncodedVector): Float32Array {
  if (vector instanceof Float32Array) return vector;
  const { buffer, byteOffset, length } = vector.decoded();
  return new Float32Array(buffer, byteOffset, length / 4);
}
