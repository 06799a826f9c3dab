/** Pictures of Gemini models: the same question and the same answer on the Gemini API and on Vertex AI. */
import type { GatewayError } from "../../../std/gateway-error.ts";
import type { Asked, WireReply } from "../../adapter.ts";
import type {
  FilePart,
  GenerationQuery,
  ImageResult,
  Rest,
  Target,
  WholeReply,
} from "../../contract.ts";
import type { EditTraits, ImageTraits } from "../../image-traits.ts";
import { readDocument } from "../wire/document.ts";
import { FileContent } from "../wire/json-with-files.ts";
import { listOf, memberOf, objectOf, restOf, textIn } from "../wire/members.ts";
import { refused } from "../wire/native-fault.ts";
import { pictureIn } from "../wire/picture-in.ts";
import { without } from "../wire/refusal.ts";
import { geminiUsage } from "./usage.ts";

// ai.google.dev/gemini-api/docs/image-generation: every model knows these shapes,
export const geminiShapes = [
  ...["1:1", "2:3", "3:2", "3:4", "4:3"],
  ...["4:5", "5:4", "9:16", "16:9", "21:9"],
];
// and gemini-3.1-flash-image and its lite kind these as well.
const banners = ["1:4", "4:1", "1:8", "8:1"];

/** What is the same everywhere; the two places differ in what they say of files. */
export function geminiTraits(
  { model }: Target,
  takes: ImageTraits["takes"],
  files: Partial<EditTraits>,
): ImageTraits {
  const newer = /gemini-3\.1-/.test(model);
  return {
    // One candidate is one picture; `candidateCount` is 1 on every model's card.
    maxImages: 1,
    takes: { ...takes, ...(newer && { complexity: ["low", "high"] }) },
    sizes: { ratios: newer ? [...geminiShapes, ...banners] : geminiShapes },
    // "Maximum images per prompt: 14" on the cards of the third generation.
    edits: { maxImages: 14, ...files },
  };
}

/** How long the model thinks before it draws: gemini-3.1 knows these two steps. */
const thinking: Readonly<Record<string, string>> = { low: "MINIMAL", high: "HIGH" };

/** Members of a request itself. All other options of the API belong to `generationConfig`. */
const outside: ReadonlySet<string> = new Set([
  ...["safetySettings", "tools", "toolConfig", "systemInstruction", "cachedContent"],
  ...["labels", "serviceTier", "store"],
]);

/**
 * The same page: "Gemini 3 image models generate 1K images by default but can also output 2K, 4K". 1K is about as many
 * pixels as 1024x1024, 2K four times and 4K sixteen times as many. The lite kind and the older ones are not among them.
 */
function imageSizeFor({ wanted = "" }: GenerationQuery, { model }: Target): Rest {
  if (!/gemini-3[.\d]*-(?:pro|flash)-image/.test(model)) return {};
  const [width = 0, height = 0] = wanted.split("x").map(Number);
  const edge = Math.sqrt(width * height);
  // Where it is in between, the nearer one in proportion.
  if (edge <= 1024 * Math.SQRT2) return {};
  return { imageSize: edge <= 2048 * Math.SQRT2 ? "2K" : "4K" };
}

export function geminiBody(
  query: GenerationQuery,
  target: Target,
  files: readonly FilePart[],
): Rest {
  const { prompt, options, aspect, rest } = query;
  const { generationConfig, imageConfig, ...others } = rest;
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
  const level = thinking[options.complexity ?? ""];
  return {
    ...picked(others, (name) => outside.has(name)),
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
      ...picked(others, (name) => !outside.has(name)),
      ...given,
      responseModalities: ["IMAGE"],
      ...(Object.keys(shape).length > 0 && { imageConfig: shape }),
      ...(level && {
        thinkingConfig: { ...objectOf(given.thinkingConfig), thinkingLevel: level },
      }),
    },
  };
}

export async function readGeminiPictures(
  reply: WireReply,
  asked: Asked<GenerationQuery>,
): Promise<WholeReply> {
  const answer = await readDocument(reply, asked.scratch);
  const candidates = listOf(memberOf(answer, "candidates"));
  const parts = candidates.flatMap((candidate) =>
    listOf(memberOf(memberOf(candidate, "content"), "parts")),
  );
  // What the model draws while it thinks is not what it was asked for.
  const results = parts
    .filter((part) => memberOf(part, "thought") !== true)
    .flatMap((part): ImageResult[] => {
      const image = pictureIn(memberOf(memberOf(part, "inlineData"), "data"));
      return image ? [{ image }] : [];
    });
  if (results.length === 0) throw noPicture(answer, candidates[0], parts, asked);
  return {
    kind: "whole",
    results,
    facts: {},
    ...geminiUsage(memberOf(answer, "usageMetadata")),
    // Google wants it shown to whoever sees a picture that a search went into.
    ...restOf(candidates[0], ["groundingMetadata"]),
  };
}

/** googleapis/js-genai, FinishReason: those that speak of what the picture would have shown. */
const refusals: ReadonlySet<unknown> = new Set([
  ...["SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT"],
  ...["RECITATION", "IMAGE_RECITATION", "BLOCKLIST", "SPII"],
]);

function noPicture(
  answer: unknown,
  candidate: unknown,
  parts: readonly unknown[],
  asked: Asked<GenerationQuery>,
): GatewayError {
  const feedback = memberOf(answer, "promptFeedback");
  const blocked = memberOf(feedback, "blockReason");
  const reason = memberOf(candidate, "finishReason");
  // What it says in place of a picture is said to the caller.
  const said = [
    textIn(feedback, "blockReasonMessage"),
    textIn(candidate, "finishMessage"),
    ...parts.map((part) => textIn(part, "text")),
  ].find((words) => words?.trim());
  const words = said && withoutProject(said.trim(), asked);
  if (blocked === undefined && !refusals.has(reason)) {
    const why = [nameIn(reason), words].filter((part) => part !== undefined);
    return refused(undefined, why.join(": "), asked);
  }
  const name = nameIn(blocked ?? reason) ?? "no reason";
  return refused(
    "moderated",
    words ?? `The upstream's safety system refused the request (${name}).`,
    asked,
  );
}

/** Words of an answer: those of a refusal are cleaned in fault.ts. */
export const withoutProject = (words: string, { target }: Asked<GenerationQuery>): string =>
  without(words, [String(target.upstream.options.project ?? "")]);

/** A name out of a list of Google's, never anything else. */
const nameIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Z_]{2,40}$/.test(value) ? value : undefined;

const picked = (from: Rest, wanted: (name: string) => boolean): Rest =>
  Object.fromEntries(Object.entries(from).filter(([name]) => wanted(name)));
