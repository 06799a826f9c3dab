/** What a vector depends on, as a hash. Two inputs have one key only if their vectors are the same; no text can be read back. */
import { isEmptyObject } from "../../lib/is-empty-object.ts";
import type { Route } from "../../request/caller.ts";
import type { EmbeddingInput, EmbeddingsQuery, ExtraFields } from "../../upstream/contract.ts";
import type { TaskType } from "../../upstream/task-type.ts";

/** Raised when keys are made otherwise: vectors kept under the old ones are never found again and may go. */
export const cacheKeyFormat = 1;

/** Longer ones are hashed themselves: a client's extra fields may have kilobytes, and go before each of many inputs. */
const maxPrefix = 256;

/**
 * What all inputs of a call have in common. `user` is not in it, nor the encoding: they change no vector.
 * `byMeaning`: the upstreams are told what vectors are for in their own words, so the caller's own do not matter.
 */
export function cacheKeyPrefix(query: EmbeddingsQuery, route: Route, byMeaning: boolean): string {
  const { dimensions, taskType: purpose, rest } = query;
  const purposeText = purpose === undefined ? "" : purposeOf(purpose, byMeaning);
  const restText = isEmptyObject(rest) ? "" : canonical(rest);
  const origin = origins.get(route) ?? originOf(route);
  const text = `[${origin},${dimensions ?? ""},${purposeText},${restText}]`;
  const short = text.length <= maxPrefix ? text : hash(text);
  return `${cacheKeyFormat}:${short.length}:${short}`;
}

const origins = new WeakMap<Route, string>();

/**
 * Where vectors come from. That they are of one space makes them comparable, not equal: of the same weights one vendor
 * puts words before a text, another computes with fewer bits. The first target stands for all of a model's, as whoever
 * wrote them down vouches for; so another may be added without a vector being forgotten.
 */
function originOf(route: Route): string {
  const { space, dimensions, targets, id } = route;
  const [first] = targets;
  const { kind, id: upstream, baseUrl, options, headers } = first?.upstream ?? {};
  const model = first ? first.model : id;
  // Options too: pooling, or prompts before a text, make other vectors. And headers may say where a call really goes.
  const parts = [space, dimensions, kind, upstream, baseUrl, options, headers, model];
  const origin = hash(JSON.stringify(parts));
  origins.set(route, origin);
  return origin;
}

const purposeOf = ({ field, given, meaning }: TaskType, byMeaning: boolean): string =>
  JSON.stringify(byMeaning && meaning !== undefined ? meaning : [field, given]);

export function cacheKey(prefix: string, input: EmbeddingInput, at: number): string {
  if (input.kind === "tokens") return hash(`${prefix}i${(input.tokens[at] ?? []).join(",")}`);
  const text = input.texts[at] ?? "";
  // A lone surrogate has no UTF-8: every one would be hashed as the same replacement character.
  return text.isWellFormed() ? hashOf(`${prefix}t`, text) : hashUtf16(`${prefix}u`, text);
}

const sliceLength = 64 * 1024;
const slice = Buffer.allocUnsafeSlow(2 * sliceLength);

/** Of the text's UTF-16 code units, slice by slice: a copy of all of it would be twice its size. */
function hashUtf16(prefix: string, text: string): string {
  const hasher = new Bun.SHA256().update(prefix);
  for (let from = 0; from < text.length; from += sliceLength) {
    const length = slice.write(text.slice(from, from + sliceLength), "utf16le");
    hasher.update(slice.subarray(0, length));
  }
  return hasher.digest("base64");
}

/** Long texts are hashed where they are: to join them with the prefix would copy them twice. */
const longText = 64 * 1024;

const hashOf = (prefix: string, text: string): string =>
  text.length < longText
    ? hash(`${prefix}${text}`)
    : new Bun.SHA256().update(prefix).update(text).digest("base64");

const hash = (text: string): string => Bun.SHA256.hash(text, "base64");

/** As JSON, which is what the upstream gets, but in one order: fields may come in any. */
const canonical = (rest: ExtraFields): string => JSON.stringify(rest, (_, value) => sorted(value));

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
