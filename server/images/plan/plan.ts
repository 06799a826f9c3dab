/**
 * Step 6 for pictures: what a target is asked for, what the gateway does in its place, and what nobody can do. A pure
 * function of the query, what the target can do, and the policy; everything it changes is told.
 */
import type { Parameters } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOptions,
} from "../../upstream/contract.ts";
import type { ImageCapabilities, OptionName } from "../../upstream/image-capabilities.ts";
import { planCompression } from "./plan-compression.ts";
import { convertibleFormats, invalidOption, unsupportedOption } from "./plan-refusals.ts";
import { planSize } from "./plan-size.ts";
import { checkSources } from "./plan-sources.ts";
import { planStream } from "./plan-stream.ts";
import { planUser } from "./plan-user.ts";

/**
 * `adapt`: what the target lacks the gateway does itself where it can, and refuses where it cannot. `drop`: the same, but
 * what cannot be done is left out. `strict`: whatever the target lacks is refused. `pass`: the target decides, where it
 * speaks OpenAI's language.
 */
export type Policy = Parameters;

/** What becomes of a picture after it has come. */
export interface PostProcessing {
  readonly format?: "png" | "jpeg" | "webp";
  /** 0 to 100. */
  readonly compression?: number;
  /** The same of a target that takes it: it holds only where the format has to be put right. */
  readonly fallbackCompression?: number;
  /** Without transparency. */
  readonly opaque?: true;
  /** As what it is handed over. Absent: as it came. */
  readonly as?: "url" | "b64_json";
}

export interface Plan<Q extends GenerationQuery> {
  /** What the target is asked. */
  readonly query: Q;
  /** How many pictures each of the calls is for. */
  readonly requestCounts: readonly number[];
  readonly postProcessing: PostProcessing;
  /** Fields that the gateway serves in another way than by passing them on. */
  readonly adapted: readonly string[];
  /** Fields that were left out. */
  readonly dropped: readonly string[];
}

/** What is gathered while a plan is made. */
export interface Draft {
  readonly policy: Policy;
  /** The public id, for messages. */
  readonly model: string;
  readonly adapted: string[];
  readonly dropped: string[];
  options: { -readonly [K in keyof ImageOptions]: ImageOptions[K] };
  shape?: Pick<GenerationQuery, "aspectRatio" | "requestedSize">;
  postProcessing: { -readonly [K in keyof PostProcessing]: PostProcessing[K] };
}

/** Throws GatewayError where this target cannot serve the query. */
export function planImage<Q extends GenerationQuery | EditQuery>(
  query: Q,
  traits: ImageCapabilities,
  policy: Policy,
): Plan<Q> {
  const { n = 1, response_format } = query.options;
  // To whom speaks another language, nothing can be passed as it is: there it is as if nothing were said.
  if (policy === "pass" && traits.verbatim) {
    return { query, requestCounts: [n], postProcessing: {}, adapted: [], dropped: [] };
  }
  const draft: Draft = {
    policy,
    model: query.model,
    adapted: [],
    dropped: [],
    options: { ...query.options },
    postProcessing: response_format ? { as: response_format as "url" | "b64_json" } : {},
  };
  checkPrompt(query, traits);
  if ("images" in query) checkSources(query, traits.edits, query.model);
  planSize(draft, traits.sizes);
  for (const name of Object.keys(query.options) as (keyof ImageOptions)[]) {
    if (!plannedSeparately.has(name) && name in draft.options)
      planOption(draft, name as OptionName, traits);
  }
  checkTransparency(draft);
  planCompression(draft, traits);
  planUser(draft, traits);
  if (query.stream) planStream(draft, traits);
  // A target that takes a format and sends another is put right.
  const format = formatIn(draft.options.output_format);
  if (format) draft.postProcessing.format ??= format;
  const { output_compression } = draft.options;
  if (output_compression !== undefined && format && format !== "png") {
    draft.postProcessing.fallbackCompression = output_compression;
  }
  const rest = planExtraFields(draft, query.rest, traits.extras);
  const calls = splitRequests(draft, n, traits.maxImages);
  return {
    query: {
      ...query,
      rest,
      // An answer that comes whole is cut into events here.
      stream: query.stream && traits.streams === true,
      options: draft.options,
      ...draft.shape,
    },
    requestCounts: calls,
    postProcessing: draft.postProcessing,
    adapted: draft.adapted,
    dropped: draft.dropped,
  };
}

const formatIn = (format: string | undefined): PostProcessing["format"] =>
  convertibleFormats.find((kind) => kind === format);

/** Of a target that can: of another it has been said by now. */
function checkTransparency({ options, postProcessing: finish, policy, dropped }: Draft): void {
  const { background, output_format = finish.format } = options;
  if (background !== "transparent" || output_format !== "jpeg") return;
  if (policy === "drop") {
    delete options.background;
    dropped.push("background");
    return;
  }
  throw new GatewayError(
    "invalid_value",
    "Transparent background is not supported for jpeg output. Ask for output_format 'png' or 'webp'.",
    { param: "background" },
  );
}

function checkPrompt({ prompt }: GenerationQuery, { maxPrompt }: ImageCapabilities): void {
  // Counted as people count, in characters and not in UTF-16 units.
  if (maxPrompt === undefined || prompt.length <= maxPrompt) return;
  const length = codePoints(prompt);
  if (length <= maxPrompt) return;
  throw new GatewayError(
    "prompt_too_long",
    `Prompt must be length ${maxPrompt} or less. Your prompt length is ${length}. Please reduce your prompt length.`,
    { param: "prompt" },
  );
}

/** Counted without an array of characters, which would take many times the memory of the text. */
function codePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    // A pair of surrogates is one character.
    if ((text.codePointAt(at) as number) > 0xffff) at++;
    count++;
  }
  return count;
}

/** Of who is known to know none of them, nothing is expected in silence. */
function planExtraFields(
  draft: Draft,
  rest: ExtraFields,
  known: readonly string[] | undefined,
): ExtraFields {
  if (!known) return rest;
  const unknown = Object.keys(rest).filter((name) => !known.includes(name));
  const [first] = unknown;
  if (first === undefined) return rest;
  if (draft.policy === "strict") throw unsupportedOption(draft, first);
  draft.dropped.push(...unknown);
  return Object.fromEntries(Object.entries(rest).filter(([name]) => known.includes(name)));
}

function splitRequests(draft: Draft, n: number, maxImages: number): number[] {
  if (n <= maxImages) return [n];
  if (draft.policy === "strict") {
    throw new GatewayError(
      "invalid_value",
      `Invalid 'n': integer above maximum. Expected at most ${maxImages} for this model, but got ${n}.`,
      { param: "n" },
    );
  }
  draft.adapted.push("n");
  const calls: number[] = [];
  for (let left = n; left > 0; left -= maxImages) calls.push(Math.min(left, maxImages));
  return calls;
}

/** Options with a step of their own. */
const plannedSeparately: ReadonlySet<keyof ImageOptions> = new Set([
  "n",
  "size",
  "output_compression",
]);

function planOption(draft: Draft, name: OptionName, traits: ImageCapabilities): void {
  const { takes, always, undocumentedOptions: contested } = traits;
  const value = draft.options[name];
  const allowed = takes[name];
  if (allowed === "any" || includesValue(allowed, value) || includesValue(contested?.[name], value))
    return;
  delete draft.options[name];
  // What a model does by itself need not be said.
  if (value === "auto" || always?.[name] === value) return;
  if (always?.[name] === undefined && isDefaultValue(name, value)) return;
  if (draft.policy === "strict") throw invalidOption(draft, name, value, allowed);
  const emulate = emulations[name];
  if (emulate?.(draft, value, allowed ?? [])) return;
  if (draft.policy === "drop") draft.dropped.push(name);
  else throw invalidOption(draft, name, value, allowed);
}

const includesValue = (values: "any" | readonly string[] | undefined, value: unknown): boolean =>
  values === "any" || values?.includes(String(value)) === true;

/** Values that ask for what every picture is anyway. */
const isDefaultValue = (name: OptionName, value: unknown): boolean =>
  (name === "partial_images" && value === 0) || (name === "input_fidelity" && value === "low");

/** What the gateway can do in a target's place. True where it does. */
type Emulate = (draft: Draft, value: unknown, allowed: readonly string[]) => boolean;

const emulations: Readonly<Partial<Record<OptionName, Emulate>>> = {
  // Handed over in the way that was asked for, whichever way it came.
  response_format: () => true,
  output_format: ({ postProcessing: finish }, value) => {
    const format = convertibleFormats.find((kind) => kind === value);
    if (format === undefined) return false;
    finish.format = format;
    return true;
  },
  background: (draft, value) => {
    if (value !== "opaque") return false;
    draft.postProcessing.opaque = true;
    return true;
  },
  // Two families of names for the same tiers.
  quality: (draft, value, allowed) => {
    const same = tiers[String(value)]?.find((tier) => allowed.includes(tier));
    if (same === undefined) return false;
    draft.options.quality = same;
    draft.adapted.push("quality");
    return true;
  },
  // Fewer previews than asked for, and none, are what the contract allows.
  partial_images: ({ adapted }) => {
    adapted.push("partial_images");
    return true;
  },
  // Who looks closely at every picture sees all that a quick look shows.
  input_fidelity: ({ dropped }, value) => {
    if (value !== "low") return false;
    dropped.push("input_fidelity");
    return true;
  },
  // Who asks makes no difference to the picture, and nothing else can be done about it.
  user: ({ dropped }) => {
    dropped.push("user");
    return true;
  },
  safety_identifier: ({ dropped }) => {
    dropped.push("safety_identifier");
    return true;
  },
};

const tiers: Readonly<Record<string, readonly string[]>> = {
  standard: ["medium"],
  hd: ["high"],
  low: ["standard"],
  medium: ["standard"],
  high: ["hd"],
};
