/** Images of Gemini models: the same request and response on the Gemini API and on Vertex AI. */

import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { ImageRequestContext, ReadImages } from "../../adapter.ts";
import type {
  ExtraFields,
  FilePart,
  GenerationQuery,
  ImageResult,
  Target,
} from "../../contract.ts";
import type { EditCapabilities, ImageCapabilities } from "../../image-capabilities.ts";
import { resolutionOf } from "../../image-sizes.ts";
import { FileContent } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { without } from "../wire/error-body.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { extraFieldsOf, listOf, memberOf, objectOf, textIn } from "../wire/members.ts";
import { toMappedError } from "../wire/native-errors.ts";
import { geminiUsage } from "./usage.ts";

// ai.google.dev/gemini-api/docs/image-generation: every model takes these aspect ratios.
const commonRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
// The same page: gemini-3.1-flash-image, its lite variant and gemini-nano-banana-2.1 also take these.
const bannerRatios = ["1:4", "4:1", "1:8", "8:1"];

/** The thinking levels of a model, by the value of `complexity` that selects each. */
type ThinkingLevels = Readonly<Record<string, string>>;

interface GeminiImageModel {
  readonly ratios: readonly string[];
  readonly thinking: ThinkingLevels;
  /** Takes `imageSize`: 1K, 2K or 4K. */
  readonly sized: boolean;
}

const wideRatios = [...commonRatios, ...bannerRatios];
const twoLevels: ThinkingLevels = { low: "MINIMAL", high: "HIGH" };

/**
 * By the model's name, without the `google/` that gateways put before it. Sources: the page named above; of
 * gemini-nano-banana-2.1 the release notes of @tanstack/ai-gemini 0.36.0 ("all 14 aspect ratios at 1K, 2K, or 4K"; 512
 * is refused), docs.laozhang.ai/en/api-capabilities/nano-banana-2-1-image (2026-10-07), and for its thinking levels
 * skills.sh/jpcaparas/skills/nanobanana (live calls, 2026-10-18). A later nano-banana is assumed to be like 2.1.
 */
const models: readonly (readonly [RegExp, GeminiImageModel])[] = [
  [
    /gemini-nano-banana-/,
    { ratios: wideRatios, thinking: { ...twoLevels, medium: "MEDIUM" }, sized: true },
  ],
  [/gemini-3\.1-[\w-]*lite/, { ratios: wideRatios, thinking: twoLevels, sized: false }],
  [/gemini-3\.1-/, { ratios: wideRatios, thinking: twoLevels, sized: true }],
  [
    /gemini-3[.\d]*-(?:pro|flash)-image|nano-banana-pro/,
    { ratios: commonRatios, thinking: {}, sized: true },
  ],
];
const older: GeminiImageModel = { ratios: commonRatios, thinking: {}, sized: false };

/** Capabilities of a Gemini image model, at Google and at gateways that forward requests to Google. */
export const geminiImageModel = (model: string): GeminiImageModel =>
  models.find(([name]) => name.test(model))?.[1] ?? older;

/** The options that the Gemini API and Vertex AI share; they differ in file formats. */
export function geminiImageCapabilities(
  { model }: Target,
  takes: ImageCapabilities["takes"],
  files: Partial<EditCapabilities>,
): ImageCapabilities {
  const { ratios, thinking } = geminiImageModel(model);
  const levels = Object.keys(thinking);
  return {
    // One candidate is one image; `candidateCount` is 1 on every model's card.
    maxImages: 1,
    takes: { ...takes, ...(levels.length > 0 && { complexity: levels }) },
    sizes: { ratios },
    // "Maximum images per prompt: 14" on the cards of the third generation.
    edits: { maxImages: 14, ...files },
  };
}

/** Members of a request itself. All other options of the API belong to `generationConfig`. */
const requestMembers: ReadonlySet<string> = new Set([
  "safetySettings",
  "tools",
  "toolConfig",
  "systemInstruction",
  "cachedContent",
  "labels",
  "serviceTier",
  "store",
]);

/** "Gemini 3 image models generate 1K images by default but can also output 2K, 4K": 1K is not sent. */
function imageSizeFor(query: GenerationQuery, { model }: Target): ExtraFields {
  const imageSize = resolutionOf(query);
  return geminiImageModel(model).sized && imageSize !== "1K" ? { imageSize } : {};
}

export function geminiBody(
  query: GenerationQuery,
  target: Target,
  files: readonly FilePart[],
): ExtraFields {
  const { prompt, options, aspectRatio: aspect, extraFields } = query;
  const { generationConfig, imageConfig, ...others } = extraFields;
  const given = objectOf(generationConfig);
  const shape = {
    ...imageSizeFor(query, target),
    ...objectOf(given.imageConfig),
    ...objectOf(imageConfig),
    ...(aspect !== undefined && { aspectRatio: aspect }),
    ...(options.output_format && {
      imageOutputOptions: { mimeType: `image/${options.output_format}` },
    }),
  };
  const level = geminiImageModel(target.model).thinking[options.complexity ?? ""];
  return {
    ...picked(others, (name) => requestMembers.has(name)),
    contents: [
      {
        role: "user",
        parts: [
          { text: prompt },
          ...files.map((file) => ({
            inlineData: { mimeType: file.type, data: new FileContent(file) },
          })),
        ],
      },
    ],
    generationConfig: {
      ...picked(others, (name) => !requestMembers.has(name)),
      ...given,
      responseModalities: ["IMAGE"],
      ...(Object.keys(shape).length > 0 && { imageConfig: shape }),
      ...(level && {
        thinkingConfig: { ...objectOf(given.thinkingConfig), thinkingLevel: level },
      }),
    },
  };
}

export const readGeminiImages: ReadImages = async (response, context) => {
  const body = await readDocument(response, context.temp);
  const candidates = listOf(memberOf(body, "candidates"));
  const parts = candidates.flatMap((candidate) =>
    listOf(memberOf(memberOf(candidate, "content"), "parts")),
  );
  // Images of the thinking phase are not results.
  const results = parts
    .filter((part) => memberOf(part, "thought") !== true)
    .flatMap((part): ImageResult[] => {
      const image = imageContentIn(memberOf(memberOf(part, "inlineData"), "data"));
      return image ? [{ image }] : [];
    });
  if (results.length === 0) throw noImageError(body, candidates[0], parts, context);
  return {
    kind: "buffered",
    results,
    metadata: {},
    ...geminiUsage(memberOf(body, "usageMetadata")),
    // Google requires clients to show it with an image that is based on a search.
    ...extraFieldsOf(candidates[0], ["groundingMetadata"]),
  };
};

/** googleapis/js-genai, FinishReason: the reasons about the content of the image. */
const refusals: ReadonlySet<unknown> = new Set([
  "SAFETY",
  "IMAGE_SAFETY",
  "PROHIBITED_CONTENT",
  "IMAGE_PROHIBITED_CONTENT",
  "RECITATION",
  "IMAGE_RECITATION",
  "BLOCKLIST",
  "SPII",
]);

function noImageError(
  response: unknown,
  candidate: unknown,
  parts: readonly unknown[],
  context: ImageRequestContext,
): GatewayError {
  const feedback = memberOf(response, "promptFeedback");
  const blocked = memberOf(feedback, "blockReason");
  const reason = memberOf(candidate, "finishReason");
  // The text that the model returns instead of an image is the error message for the client.
  const text = [
    textIn(feedback, "blockReasonMessage"),
    textIn(candidate, "finishMessage"),
    ...parts.map((part) => textIn(part, "text")),
  ].find((message) => message?.trim());
  const message = text && withoutProject(text.trim(), context);
  if (blocked === undefined && !refusals.has(reason)) {
    const why = [nameIn(reason), message].filter((part) => part !== undefined);
    return toMappedError(undefined, why.join(": "), context);
  }
  const name = nameIn(blocked ?? reason) ?? "no reason";
  return toMappedError(
    "moderated",
    message ?? `The upstream's safety system refused the request (${name}).`,
    context,
  );
}

/** Texts of a successful response; error messages are redacted in errors.ts. */
export const withoutProject = (message: string, { target }: ImageRequestContext): string =>
  without(message, [String(target.upstream.options.project ?? "")]);

/** An enum value of Google's, never free text. */
const nameIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Z_]{2,40}$/.test(value) ? value : undefined;

const picked = (from: ExtraFields, include: (name: string) => boolean): ExtraFields =>
  Object.fromEntries(Object.entries(from).filter(([name]) => include(name)));
