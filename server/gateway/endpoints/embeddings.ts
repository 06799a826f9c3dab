/** POST /v1/embeddings, and the older path with the model in the address. */
import { z } from "zod";
import { GatewayError } from "../../std/gateway-error.ts";
import { release } from "../../std/held.ts";
import { releaseWhole } from "../../std/pieces.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsReply,
  Rest,
} from "../../upstream/contract.ts";
import { type Purpose, purposeFields, readPurpose } from "../../upstream/purpose.ts";
import type { Body, Endpoint, Written } from "../endpoint.ts";
import type { Incoming } from "../incoming.ts";
import { nameOf, parse } from "../parse.ts";
import { inBase64, inNumbers } from "../write-vectors.ts";
import { withoutNulls } from "./fields.ts";

const token = z.int().min(0);
const input = z
  .union([
    z.string().min(1),
    z.array(z.string().min(1)).min(1),
    z.array(token).min(1),
    z.array(z.array(token).min(1)).min(1),
  ])
  .describe("A text, several texts, one text as tokens, or several texts as tokens.");

export const embeddingsBody = z.looseObject({
  model: z.string().min(1).describe("The public id of an embedding model."),
  input,
  encoding_format: z.enum(["float", "base64"]).optional().describe("float when absent."),
  dimensions: z.int().min(1).optional().describe("Length of the vectors, where the model allows."),
  user: z.string().optional(),
});

/** On the older path the model stands in the address. */
export const engineEmbeddingsBody = embeddingsBody.omit({ model: true });

export function embeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsReply> {
  return {
    operation: "embeddings",
    kind: "embedding",
    body: embeddingsBody,
    read: (incoming) => {
      const read = (body: unknown) => ({ query: readQuery(withoutNulls(body), options.maxInputs) });
      const body = incoming.json();
      return body instanceof Promise ? body.then(read) : read(body);
    },
    write,
  };
}

export function engineEmbeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsReply> {
  return {
    ...embeddingsEndpoint(options),
    body: engineEmbeddingsBody,
    read: async (incoming) => {
      // Clients of that age put their own `timeout` into the body.
      const { timeout, ...body } = withoutNulls(await incoming.json());
      const model = engineOf(incoming);
      return { query: readQuery({ ...body, model }, options.maxInputs) };
    },
  };
}

/** The old clients encode a space as `+`, so a real plus arrives as %2B. */
function engineOf(incoming: Incoming): string {
  const segment = /^\/v1\/engines\/(.+)\/embeddings\/?$/.exec(incoming.path)?.[1] ?? "";
  try {
    return decodeURIComponent(segment.replaceAll("+", " "));
  } catch (cause) {
    throw new GatewayError("model_not_found", "The model in the address is not encoded well.", {
      cause,
    });
  }
}

function readQuery(body: Record<string, unknown>, maxInputs: number): EmbeddingsQuery {
  if (body.model === undefined || body.model === "") {
    throw new GatewayError("missing_model", "you must provide a model parameter");
  }
  const plain = readPlain(body, maxInputs);
  if (plain) return plain;
  const {
    model,
    input: given,
    encoding_format,
    dimensions,
    user,
    ...rest
  } = parse(embeddingsBody, body, { input: invalidInput });
  if (given.length > maxInputs && typeof given === "object" && typeof given[0] !== "number") {
    throw invalidInput(given, `at most ${maxInputs} entries may be sent in one call.`);
  }
  return {
    model,
    ...shape(given),
    encoding: encoding_format ?? "float",
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    ...withPurpose(rest),
  };
}

const nothing: Rest = Object.freeze({});

/**
 * Texts and no wishes but their encoding: what most callers send, and what the schema would make of it, for a tenth
 * of the time. Undefined where there is anything more to say about it.
 */
export function readPlain(
  body: Record<string, unknown>,
  maxInputs: number,
): EmbeddingsQuery | undefined {
  const { model, input: given, encoding_format: encoding = "float" } = body;
  const single = typeof given === "string";
  const texts = single ? [given] : given;
  if (typeof model !== "string" || model === "" || !areTexts(texts, maxInputs)) return undefined;
  if (encoding !== "base64" && encoding !== "float") return undefined;
  for (const name in body) {
    if (name !== "model" && name !== "input" && name !== "encoding_format") return undefined;
  }
  return { model, input: { kind: "text", texts }, single, encoding, rest: nothing };
}

function areTexts(given: unknown, most: number): given is string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > most) return false;
  for (const text of given) if (typeof text !== "string" || text === "") return false;
  return true;
}

/** Not OpenAI's, but most other vendors have it under one name or another. */
function withPurpose(given: Rest): { readonly purpose?: Purpose; readonly rest: Rest } {
  const field = purposeFields.find((name) => typeof given[name] === "string");
  if (field === undefined) return { rest: given };
  const { [field]: word, ...rest } = given;
  const purpose = readPurpose(field, word as string);
  const also = purposeFields.filter((name) => typeof rest[name] === "string");
  if (also.length === 0) return { purpose, rest };
  for (const name of also) checkAgreed(purpose, readPurpose(name, rest[name] as string));
  // Said twice: no upstream needs both.
  const others = Object.entries(rest).filter(([name]) => !also.some((one) => one === name));
  return { purpose: { ...purpose, also }, rest: Object.fromEntries(others) };
}

/** One of them would win, and half an index be made for something else. */
function checkAgreed(one: Purpose, other: Purpose): void {
  if (one.given === other.given || (one.meaning && one.meaning === other.meaning)) return;
  throw new GatewayError(
    "invalid_value",
    `Invalid value: '${other.given}'. '${one.field}' is '${one.given}', which is not the same: send one of the two.`,
    { param: other.field },
  );
}

type GivenInput = z.output<typeof input>;

function shape(given: GivenInput): { input: EmbeddingInput; single: boolean } {
  if (typeof given === "string") return { input: { kind: "text", texts: [given] }, single: true };
  const [first] = given;
  if (typeof first === "string") {
    return { input: { kind: "text", texts: given as string[] }, single: false };
  }
  return typeof first === "number"
    ? { input: { kind: "tokens", tokens: [given as number[]] }, single: true }
    : { input: { kind: "tokens", tokens: given as number[][] }, single: false };
}

/** OpenAI says only "'$.input' is invalid"; this says what to change. */
const invalidInput = (given: unknown, limit?: string): GatewayError =>
  new GatewayError(
    "invalid_input",
    `'$.input' is invalid. ${limit === undefined ? inputProblem(given) : `It has ${(given as unknown[]).length} entries; ${limit}`}`,
  );

function inputProblem(given: unknown): string {
  if (given === undefined) return "It is missing: send a string or an array of strings.";
  if (given === "") return "It is an empty string.";
  if (!Array.isArray(given)) return `It must be a string or an array, not ${nameOf(given)}.`;
  if (given.length === 0) return "It is an empty array.";
  const wanted = typeof given[0];
  for (const [at, entry] of given.entries()) {
    const problem = entryProblem(entry, wanted);
    if (problem) return `Entry ${at} ${problem}.`;
  }
  return "Send a string, an array of strings, or arrays of tokens.";
}

function entryProblem(entry: unknown, wanted: string): string | undefined {
  if (wanted === "string") {
    if (typeof entry !== "string") return `is ${nameOf(entry)}, while the first is a string`;
    return entry === "" ? "is an empty string" : undefined;
  }
  if (wanted === "number") return isToken(entry) ? undefined : "is not a token (an integer from 0)";
  if (!Array.isArray(entry)) return `is ${nameOf(entry)}, while the first is an array`;
  if (entry.length === 0) return "is an empty array";
  return entry.every(isToken) ? undefined : "holds something that is not a token";
}

const isToken = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function write(reply: EmbeddingsReply, query: EmbeddingsQuery): Written | Promise<Written> {
  const written = (body: Body): Written => ({ kind: "whole", body, usage: reply.usage });
  const body = bodyOf(reply, query);
  return body instanceof Promise ? body.then(written) : written(body);
}

function bodyOf(reply: EmbeddingsReply, query: EmbeddingsQuery): Body | Promise<Body> {
  const { verbatim, ready } = reply;
  if (ready) return ready.body;
  if (verbatim && verbatim.model === query.model && verbatim.encoding === query.encoding) {
    return forOnce(verbatim.body.list, releaseWhole);
  }
  if (query.encoding === "base64") return inBase64(reply, query);
  const numbers = inNumbers(reply, query);
  return numbers instanceof Promise ? numbers.then(ownForOnce) : ownForOnce(numbers);
}

const ownForOnce = (pieces: readonly Uint8Array[]): Body =>
  forOnce(pieces, ({ buffer }) => release(buffer));

const largeBytes = 64 * 1024;

/**
 * Once a large answer has left, its memory goes back at once: nobody else has it. Left to the garbage collector, such
 * answers would pile up, and new memory be fetched for each.
 */
function forOnce(list: readonly Uint8Array[], free: (piece: Uint8Array) => void): Body {
  const length = list.reduce((sum, piece) => sum + piece.length, 0);
  if (length < largeBytes) return list;
  async function* open(): AsyncGenerator<Uint8Array> {
    try {
      for (const piece of list) {
        yield piece;
        free(piece);
      }
    } finally {
      for (const piece of list) free(piece);
    }
  }
  return { length, open };
}
