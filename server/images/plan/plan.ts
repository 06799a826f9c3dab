/**
 * The image plan: the upstream requests of an image request, and which options the gateway emulates, drops or rejects.
 * A pure function of the query, the target's capabilities and the policy; every change is reported.
 */
import type { ParameterPolicy } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { outOfRange } from "../../lib/out-of-range.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOptions,
} from "../../upstream/contract.ts";
import type { ImageCapabilities, OptionName } from "../../upstream/image-capabilities.ts";
import {
  convertibleFormats,
  type Draft,
  invalidOption,
  type Plan,
  unsupportedOption,
} from "./image-plan.ts";
import {
  checkSources,
  planCompression,
  planFrames,
  planPartialImages,
  planSize,
  planStream,
  planUser,
} from "./plan-options.ts";

/** The planned query. Undefined if a target with these capabilities cannot serve the query. */
export function tryPlanQuery<Q extends GenerationQuery | EditQuery>(
  query: Q,
  capabilities: ImageCapabilities,
  policy: ParameterPolicy,
): Q | undefined {
  try {
    return planImage(query, capabilities, policy).query;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** Throws GatewayError if this target cannot serve the query. */
export function planImage<Q extends GenerationQuery | EditQuery>(
  query: Q,
  capabilities: ImageCapabilities,
  policy: ParameterPolicy,
): Plan<Q> {
  const { n = 1, response_format } = query.options;
  // Passthrough needs an OpenAI-compatible API. For other targets `pass` acts as `adapt`.
  if (policy === "pass" && capabilities.verbatim) {
    return { query, requestCounts: [n], postProcessing: {}, adapted: [], dropped: [] };
  }
  const draft: Draft = {
    policy,
    model: query.model,
    adapted: [],
    dropped: [],
    options: { ...query.options },
    postProcessing: response_format ? { deliverAs: response_format as "url" | "b64_json" } : {},
  };
  checkPrompt(query, capabilities);
  checkOperation(query, capabilities);
  if (draft.options.size !== undefined) planSize(draft, draft.options.size, capabilities.sizes);
  for (const name of Object.keys(query.options) as (keyof ImageOptions)[]) {
    if (!plannedSeparately.has(name)) planOption(draft, name as OptionName, capabilities);
  }
  const { maxImages, streams = false } = forFormat(draft, capabilities);
  checkTransparency(draft);
  if (capabilities.animates) planFrames(draft, capabilities.animates);
  if (!query.stream && !capabilities.verbatim) planPartialImages(draft);
  const { output_compression: compression } = draft.options;
  if (compression !== undefined) planCompression(draft, compression, capabilities);
  if (capabilities.userLength) planUser(draft, capabilities.userLength);
  if (query.stream) planStream(draft, streams);
  planConversion(draft);
  const extraFields = planExtraFields(draft, query.extraFields, capabilities.extras);
  const requestCounts = splitRequests(draft, n, maxImages);
  return {
    query: {
      ...query,
      extraFields,
      // The gateway turns a buffered response into stream events.
      stream: query.stream && streams,
      options: draft.options,
      ...draft.shape,
    },
    requestCounts,
    postProcessing: draft.postProcessing,
    adapted: draft.adapted,
    dropped: draft.dropped,
  };
}

/** The capabilities with the requested format: some formats are generated one image at a time, and not streamed. */
const forFormat = (
  { options: { output_format: format } }: Draft,
  capabilities: ImageCapabilities,
): Pick<ImageCapabilities, "maxImages" | "streams"> =>
  format !== undefined && capabilities.singleFormats?.includes(format)
    ? { maxImages: 1, streams: false }
    : capabilities;

/** An image in another format than requested is converted. */
function planConversion({ options, postProcessing }: Draft): void {
  const format = convertibleFormats.find((kind) => kind === options.output_format);
  if (!format) return;
  postProcessing.format ??= format;
  if (format !== "png" && options.output_compression !== undefined) {
    postProcessing.fallbackCompression = options.output_compression;
  }
}

/** For targets that support transparency: for other targets the option has been rejected or dropped before. */
function checkTransparency({ options, postProcessing, policy, dropped }: Draft): void {
  const { background, output_format = postProcessing.format } = options;
  if (background !== "transparent" || output_format !== "jpeg") return;
  if (policy === "drop") {
    delete options.background;
    dropped.push("background");
    return;
  }
  throw new GatewayError(
    "invalid_value",
    "Transparent background is not supported for jpeg output. Request output_format 'png' or 'webp'.",
    { param: "background" },
  );
}

function checkOperation(
  query: GenerationQuery | EditQuery,
  { edits, editsOnly }: ImageCapabilities,
): void {
  if ("images" in query) checkSources(query, edits, query.model);
  else if (editsOnly) {
    throw new GatewayError(
      "unsupported_operation",
      `The model '${query.model}' only edits images and does not generate from a prompt alone. Send the request with an image to /v1/images/edits.`,
      { param: "model" },
    );
  }
}

function checkPrompt({ prompt }: GenerationQuery, { maxPrompt }: ImageCapabilities): void {
  // Counted in Unicode characters, not in UTF-16 code units.
  if (maxPrompt === undefined || prompt.length <= maxPrompt) return;
  const length = codePoints(prompt);
  if (length <= maxPrompt) return;
  throw new GatewayError(
    "prompt_too_long",
    `Invalid 'prompt': string too long. Expected a string with maximum length ${maxPrompt}, but got a string with length ${length} instead.`,
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

/** Extra fields that the target is known to ignore are rejected or reported as dropped. */
function planExtraFields(
  draft: Draft,
  extraFields: ExtraFields,
  accepted: readonly string[] | undefined,
): ExtraFields {
  if (!accepted) return extraFields;
  const unknown = Object.keys(extraFields).filter((name) => !accepted.includes(name));
  const [first] = unknown;
  if (first === undefined) return extraFields;
  if (draft.policy === "strict") throw unsupportedOption(draft, first);
  draft.dropped.push(...unknown);
  return Object.fromEntries(
    Object.entries(extraFields).filter(([name]) => accepted.includes(name)),
  );
}

function splitRequests(draft: Draft, n: number, maxImages: number): number[] {
  if (n <= maxImages) return [n];
  if (draft.policy === "strict") {
    throw outOfRange("n", "integer", { maximum: maxImages }, n);
  }
  draft.adapted.push("n");
  const requestCounts: number[] = [];
  for (let left = n; left > 0; left -= maxImages) requestCounts.push(Math.min(left, maxImages));
  return requestCounts;
}

/** Options that are planned by a function of their own. */
const plannedSeparately: ReadonlySet<keyof ImageOptions> = new Set([
  "n",
  "size",
  "output_compression",
]);

function planOption(draft: Draft, name: OptionName, capabilities: ImageCapabilities): void {
  const { takes, always, ignores, undocumentedOptions } = capabilities;
  const value = draft.options[name];
  const allowed = takes[name];
  if (
    allowed === "any" ||
    includesValue(allowed, value) ||
    includesValue(undocumentedOptions?.[name], value)
  )
    return;
  delete draft.options[name];
  // The model's default needs no option.
  if (value === "auto" || always?.[name] === value) return;
  if (always?.[name] === undefined && isDefaultValue(name, value)) return;
  if (draft.policy === "strict") throw invalidOption(draft, name, value, allowed);
  const emulate = emulations[name];
  if (emulate?.(draft, value, allowed ?? [])) return;
  if (draft.policy === "drop" || includesValue(ignores?.[name], value)) draft.dropped.push(name);
  else throw invalidOption(draft, name, value, allowed);
}

const includesValue = (values: "any" | readonly string[] | undefined, value: unknown): boolean =>
  values === "any" || values?.includes(String(value)) === true;

/** Values that are every model's default. */
const isDefaultValue = (name: OptionName, value: unknown): boolean =>
  (name === "partial_images" && value === 0) || (name === "input_fidelity" && value === "low");

/** Emulates an option that the target does not support. False: the gateway cannot emulate this value. */
type Emulate = (draft: Draft, value: unknown, allowed: readonly string[]) => boolean;

const emulations: Readonly<Partial<Record<OptionName, Emulate>>> = {
  // Delivered in the requested form, whatever the upstream sent.
  response_format: () => true,
  output_format: ({ postProcessing }, value) => {
    const format = convertibleFormats.find((kind) => kind === value);
    if (format === undefined) return false;
    postProcessing.format = format;
    return true;
  },
  background: (draft, value) => {
    if (value !== "opaque") return false;
    draft.postProcessing.opaque = true;
    return true;
  },
  // There are two sets of names for the same quality tiers.
  quality: (draft, value, allowed) => {
    const equivalent = tiers[String(value)]?.find((tier) => allowed.includes(tier));
    if (equivalent === undefined) return false;
    draft.options.quality = equivalent;
    draft.adapted.push("quality");
    return true;
  },
  // The API allows fewer partial images than requested, and none.
  partial_images: ({ adapted }) => {
    adapted.push("partial_images");
    return true;
  },
  // High fidelity includes low fidelity.
  input_fidelity: ({ dropped }, value) => {
    if (value !== "low") return false;
    dropped.push("input_fidelity");
    return true;
  },
  // The identifier does not affect the image, and the gateway cannot emulate it.
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
