/**
 * Cache key: a SHA-256 of everything that a vector depends on. Inputs share a key only if their vectors are equal; the
 * text cannot be recovered.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { isEmptyObject } from "../../lib/large-json.ts";
import { nextTurn, runInSteps } from "../../lib/tasks.ts";
import { bytesAt } from "../../limits/request-demand.ts";
import type { PermittedModel } from "../../request/caller.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  ExtraFields,
  InputPart,
} from "../../upstream/contract.ts";
import type { TaskType } from "../../upstream/task-type.ts";
import { itemsOf } from "../split.ts";

/**
 * Incremented when keys are computed differently: vectors stored under old keys are never found again and may be
 * deleted.
 */
export const cacheKeyFormat = 1;

/** Characters or tokens that are hashed in one step: a few milliseconds. */
const stepLength = 256 * 1024;

/**
 * A longer prefix is hashed itself: a client's extra fields may have kilobytes, and the prefix precedes each of many
 * inputs.
 */
const maxPrefix = 256;

/**
 * The part of the key that all inputs of a request share. It excludes `user` and the encoding, which change no vector.
 * `taskTypeTranslated`: the task type is translated for each upstream, so the key contains the task instead of the
 * field and the value that the client sent.
 */
export function cacheKeyPrefix(
  query: EmbeddingsQuery,
  model: PermittedModel,
  taskTypeTranslated: boolean,
): string {
  const { dimensions, taskType, outputType, extraFields } = query;
  const taskTypeText = taskType === undefined ? "" : taskTypeKey(taskType, taskTypeTranslated);
  const extraFieldsText = isEmptyObject(extraFields) ? "" : canonical(extraFields);
  const origin = origins.get(model) ?? originOf(model);
  const outputTypeText = outputType === undefined ? "" : `,${outputType.type}`;
  const text = `[${origin},${dimensions ?? ""},${taskTypeText},${extraFieldsText}${outputTypeText}]`;
  const short = text.length <= maxPrefix ? text : hash(text);
  return `${cacheKeyFormat}:${short.length}:${short}`;
}

const origins = new WeakMap<PermittedModel, string>();

/**
 * The origin of vectors. Vectors of one vector space are comparable, not equal: with the same weights one vendor
 * prepends an instruction to the text, another quantizes the weights. The first target represents all targets of a
 * model, as the operator has declared; so a target can be added without invalidating the cache.
 */
function originOf(model: PermittedModel): string {
  const { space, dimensions, targets, id } = model;
  const [first] = targets;
  const { kind, id: upstream, baseUrl, options, headers } = first?.upstream ?? {};
  const targetModel = first ? first.model : id;
  // Options too: pooling or a prompt prefix changes the vectors. And headers may decide where a request is routed.
  const parts = [space, dimensions, kind, upstream, baseUrl, options, headers, targetModel];
  const origin = hash(JSON.stringify(parts));
  origins.set(model, origin);
  return origin;
}

const taskTypeKey = ({ field, given, meaning }: TaskType, taskTypeTranslated: boolean): string =>
  JSON.stringify(taskTypeTranslated && meaning !== undefined ? meaning : [field, given]);

/** The keys of all inputs. A promise for long inputs: other requests are served while they are hashed. */
export function cacheKeys(prefix: string, input: EmbeddingInput): string[] | Promise<string[]> {
  const steps = keySteps(prefix, input);
  const { done, value } = steps.next();
  return done ? value : nextTurn().then(() => runInSteps(steps));
}

function* keySteps(prefix: string, input: EmbeddingInput): Generator<void, string[]> {
  const keys: string[] = [];
  const count = itemsOf(input);
  let left = stepLength;
  for (let at = 0; at < count; at++) {
    keys.push(cacheKey(prefix, input, at));
    left -= lengthAt(input, at);
    if (left > 0) continue;
    left = stepLength;
    yield;
  }
  return keys;
}

function lengthAt(input: EmbeddingInput, at: number): number {
  if (input.kind === "text") return input.texts[at]?.length ?? 0;
  return input.kind === "tokens" ? (input.tokens[at]?.length ?? 0) : bytesAt(input, at);
}

export function cacheKey(prefix: string, input: EmbeddingInput, at: number): string {
  if (input.kind === "tokens") return tokensKey(prefix, input.tokens[at] ?? []);
  return input.kind === "text"
    ? textKey(prefix, input.texts[at] ?? "")
    : entryKey(prefix, input.entries[at]?.parts ?? []);
}

/**
 * The bytes of images and the texts, in order: a link is not part of the key, because it may deliver another image
 * tomorrow. A single text and a token array have the same key as in a request without images.
 */
function entryKey(prefix: string, parts: readonly InputPart[]): string {
  const [first, ...others] = parts;
  if (first?.kind === "text" && others.length === 0) return textKey(prefix, first.text);
  if (first?.kind === "tokens") return tokensKey(prefix, first.tokens);
  const contents = parts.map((part) => {
    if (part.kind === "image") return ["image", part.image.hash];
    if (part.kind === "text") return ["text", textKey("", part.text)];
    throw new GatewayError("internal", "An image was not loaded before its vector was looked up.");
  });
  return hash(`${prefix}m${JSON.stringify(contents)}`);
}

const tokensKey = (prefix: string, tokens: readonly number[]): string =>
  hash(`${prefix}i${tokens.join(",")}`);

function textKey(prefix: string, text: string): string {
  const isWellFormed = text.isWellFormed();
  if (isWellFormed && text.length < longText) return hash(`${prefix}t${text}`);
  const sha256 = new Bun.SHA256().update(`${prefix}${isWellFormed ? "t" : "u"}`);
  // A lone surrogate has no UTF-8: every one would be hashed as the same replacement character.
  return sha256.update(isWellFormed ? text : Buffer.from(text, "utf16le")).digest("base64");
}

/** A longer text is hashed without the copy that joining it with the prefix would take. */
const longText = 2048;

const hash = (text: string): string => Bun.SHA256.hash(text, "base64");

/**
 * JSON with sorted fields, for the cache key only: two requests whose fields differ only in their order share a vector.
 * The upstream gets the fields in the client's order.
 */
const canonical = (extraFields: ExtraFields): string =>
  JSON.stringify(extraFields, (_, value) => sortFields(value));

function sortFields(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
