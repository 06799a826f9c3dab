/** Fake of Google's image requests for Gemini models, for the Gemini API and for Vertex AI. */
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import { googleRefusals } from "../../embedding-vendors/google-refusals.ts";
import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

export const refusal = (code: number, status: string, message: string): VendorResponse => ({
  status: code,
  body: { error: { code, message, status } },
});

export const invalid = (message: string): VendorResponse =>
  refusal(400, "INVALID_ARGUMENT", message);

/** As Google's JSON reader says it. */
export function known(value: unknown, path: string, names: readonly string[]): object {
  if (typeof value !== "object" || value === null) throw invalid(`${path} must be an object`);
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return value;
  throw invalid(
    `Invalid JSON payload received. Unknown name "${unknown}" at '${path}': Cannot find field.`,
  );
}

export interface Surface {
  /** Members of `imageConfig`. */
  readonly imageConfig: readonly string[];
  readonly shapes: readonly string[];
  readonly maxImages: number;
  /** Values of `imageSize`. If absent, the model refuses the member. */
  readonly sizes?: readonly string[];
  /** Values of `thinkingLevel`, each with the `complexity` that it means. If absent, the model refuses the member. */
  readonly levels?: Readonly<Record<string, string>>;
  /** The file format without a requested one. */
  readonly kind: "png" | "jpeg";
  readonly model: string;
}

interface Part {
  readonly text?: string;
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string };
}

interface Config {
  readonly responseModalities?: readonly string[];
  readonly imageConfig?: {
    readonly aspectRatio?: string;
    readonly imageSize?: string;
    readonly imageOutputOptions?: { readonly mimeType?: string };
  };
  readonly thinkingConfig?: { readonly thinkingLevel?: string };
}

/** https://ai.google.dev/api/generate-content */
export async function generateContent(
  request: VendorRequest,
  generator: ImageGenerator,
  surface: Surface,
): Promise<VendorResponse> {
  const parsed = read(request, surface);
  const format = parsed.options?.output_format;
  const kind = format === "png" || format === "jpeg" ? format : surface.kind;
  const [image] = await generator.generate(parsed, kind);
  return { body: image ? withImage(parsed, image, kind, surface.model) : without(surface) };
}

const requestFields = words(`
  contents generationConfig safetySettings tools toolConfig systemInstruction cachedContent
`);

function read(request: VendorRequest, surface: Surface): ParsedRequest {
  const body = known(jsonOf(request), "root", requestFields) as {
    readonly contents?: unknown;
    readonly generationConfig?: unknown;
  };
  const { contents, generationConfig } = body;
  const [content, ...others] = Array.isArray(contents) ? contents : [];
  if (others.length > 0) throw invalid("this fake knows one turn");
  const { role, parts } = known(content, "contents[0]", ["role", "parts"]) as {
    readonly role?: string;
    readonly parts?: readonly Part[];
  };
  if (role !== "user") throw invalid("Please use a valid role: user, model.");
  const { prompt, images } = readParts(parts ?? [], surface);
  return { prompt, n: 1, ...readConfig(generationConfig, surface), ...(images[0] && { images }) };
}

function readParts(parts: readonly Part[], { maxImages }: Surface) {
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const [prompt, ...others] = texts;
  if (prompt === undefined || others.length > 0) throw invalid("one part must be the prompt");
  const images = parts.flatMap((part) => {
    if (part.text !== undefined) return [];
    known(part, "parts", ["inlineData"]);
    const { mimeType, data } = part.inlineData ?? {};
    const bytes = Buffer.from(data ?? "", "base64");
    if (bytes.length === 0 || bytes.toString("base64") !== data) {
      throw invalid("Invalid value at 'inline_data.data' (TYPE_BYTES), Base64 decoding failed");
    }
    if (mimeType !== sniffImage(bytes)) throw invalid("Provided image is not valid.");
    return [bytes];
  });
  if (images.length > maxImages) throw invalid(`at most ${maxImages} images`);
  return { prompt, images };
}

const configFields = words(`
  responseModalities imageConfig thinkingConfig candidateCount seed temperature topP topK
  maxOutputTokens stopSequences
`);

function readConfig(rawConfig: unknown, surface: Surface): Partial<ParsedRequest> {
  const config = known(rawConfig, "generation_config", configFields) as Config;
  const { responseModalities, imageConfig = {}, thinkingConfig } = config;
  if (responseModalities?.join() !== "IMAGE") throw invalid("no image was requested");
  known(imageConfig, "generation_config.image_config", surface.imageConfig);
  const { aspectRatio, imageSize, imageOutputOptions } = imageConfig;
  if (aspectRatio !== undefined && !surface.shapes.includes(aspectRatio)) {
    throw invalid(`aspect_ratio must be one of ${surface.shapes.join(", ")}`);
  }
  if (imageSize !== undefined && !surface.sizes?.includes(imageSize)) {
    throw invalid(`image_size '${imageSize}' is not supported for this model`);
  }
  const { mimeType } = imageOutputOptions ?? {};
  if (mimeType !== undefined && !["image/png", "image/jpeg"].includes(mimeType)) {
    throw invalid(`Unsupported output mime type: ${mimeType}`);
  }
  const { thinkingLevel } = thinkingConfig ?? {};
  const complexity = thinkingLevel === undefined ? undefined : surface.levels?.[thinkingLevel];
  if (thinkingLevel !== undefined && complexity === undefined) {
    throw invalid(`Thinking level ${thinkingLevel} is not supported for this model.`);
  }
  return {
    ...(aspectRatio !== undefined && { aspect: aspectRatio }),
    options: {
      ...(mimeType !== undefined && { output_format: mimeType.replace("image/", "") }),
      ...(complexity !== undefined && { complexity }),
    },
  };
}

const responseId = "x7yPaqGvOJ2Hz7IPnrOZsAE";

/** Models of the third generation also return a draft made while thinking, which is not the result. */
function withImage(parsed: ParsedRequest, image: Uint8Array, kind: string, model: string): object {
  const inlineData = (bytes: Uint8Array, type: string) => ({
    mimeType: `image/${type}`,
    data: Buffer.from(bytes).toString("base64"),
  });
  const images = parsed.images?.length ?? 0;
  const thoughts = model.startsWith("gemini-2") ? 0 : 214;
  return {
    candidates: [
      {
        content: {
          parts: [
            ...(thoughts > 0
              ? [
                  { text: "I will begin with a sketch.", thought: true },
                  { inlineData: inlineData(sketch, "png"), thought: true },
                ]
              : []),
            {
              inlineData: inlineData(image, kind),
              ...(thoughts > 0 && { thoughtSignature: "EpwDCpkDAXLI2nz8mBmS" }),
            },
          ],
          role: "model",
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 6 + 258 * images,
      candidatesTokenCount: 1120,
      totalTokenCount: 6 + 258 * images + 1120 + thoughts,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 6 },
        ...(images > 0 ? [{ modality: "IMAGE", tokenCount: 258 * images }] : []),
      ],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1120 }],
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    },
    modelVersion: model,
    responseId,
  };
}

/** The smallest PNG there is. */
const sketch = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const without = ({ model }: Surface): object => ({
  candidates: [{ content: {}, finishReason: "NO_IMAGE", index: 0 }],
  usageMetadata: { promptTokenCount: 6, totalTokenCount: 6 },
  modelVersion: model,
  responseId,
});

/** As recorded: BerriAI/litellm#20357 and others who met with them. All of them come with 200. */
const heldBack = (model: string): FakeVendor["refusals"] => [
  {
    kind: "moderation_blocked",
    body: {
      candidates: [
        {
          content: { role: "model" },
          finishReason: "IMAGE_PROHIBITED_CONTENT",
          finishMessage:
            "The model output could not be generated. This output contains sensitive words that violate Google's Responsible AI practices. If you think this was an error, send feedback. Support code: 42876398.",
        },
      ],
      usageMetadata: { promptTokenCount: 1119, totalTokenCount: 1359, thoughtsTokenCount: 240 },
      modelVersion: model,
    },
  },
  {
    kind: "moderation_blocked",
    body: { candidates: [{ content: { parts: null }, finishReason: "IMAGE_SAFETY", index: 0 }] },
  },
  {
    kind: "moderation_blocked",
    body: {
      promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
      usageMetadata: { promptTokenCount: 12, totalTokenCount: 12 },
      modelVersion: model,
    },
  },
  {
    kind: "upstream_error",
    body: {
      candidates: [
        {
          content: {},
          finishReason: "IMAGE_OTHER",
          index: 0,
          finishMessage: `Unable to show the generated image. The model ${model} could not generate the image based on the prompt provided. You will not be charged for this request. Try rephrasing the prompt.`,
        },
      ],
      modelVersion: model,
    },
  },
  {
    kind: "upstream_error",
    body: {
      candidates: [
        {
          content: { parts: [{ text: "What should the otter be doing?" }], role: "model" },
          finishReason: "STOP",
        },
      ],
    },
  },
];

export const imageRefusals = (
  model: string,
  path: Parameters<typeof googleRefusals>[0],
): FakeVendor["refusals"] => [
  ...googleRefusals(path).map(({ status = 200, body, error }) => ({
    status,
    body,
    kind: error,
  })),
  {
    kind: "insufficient_quota",
    ...refusal(
      429,
      "RESOURCE_EXHAUSTED",
      "Your prepayment credits are depleted. Please go to AI Studio to manage your billing.",
    ),
  },
  ...heldBack(model),
];
