/** Fake of Vertex AI: a Gemini image model, and Imagen, which has another API. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import {
  generateContent,
  imageRefusals,
  invalid,
  known,
  refusal,
  type Surface,
} from "./google-server.ts";

const token = "ya29.vexel-images-0123456789abcdef";
const project = "otter-works-471100";
const location = "us-central1";
const host = `${location}-aiplatform.googleapis.com`;

const config = { apiKey: token, project, location } as const;

/** Gives the method, such as `predict`. */
function checkRequest({ method, path, headers }: VendorRequest, model: string): string {
  if (headers.get("authorization") !== `Bearer ${token}`) {
    throw refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
  }
  const root = `/v1/projects/${project}/locations/${location}/publishers/google/models/`;
  const [requested, verb] = path.startsWith(root) ? path.slice(root.length).split(":") : [];
  if (method === "POST" && requested === model && verb !== undefined) return verb;
  throw refusal(
    404,
    "NOT_FOUND",
    `Publisher model 'projects/${project}/locations/${location}/publishers/google/models/${requested}' was not found or your project does not have access to it.`,
  );
}

const ratios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

const geminiCase = (
  name: string,
  model: string,
  more: Pick<Surface, "shapes" | "levels">,
): FakeVendor => ({
  name,
  kind: "vertex",
  model,
  config,
  basePath: "/v1",
  operations: ["generations", "edits"],
  source:
    "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/capabilities/image-generation; googleapis/js-genai, imageConfigToVertex",
  open: (generator) => (request) => {
    if (checkRequest(request, model) !== "generateContent")
      throw invalid("not a method of this model");
    return generateContent(request, generator, {
      ...more,
      model,
      imageConfig: [
        "aspectRatio",
        "imageSize",
        "personGeneration",
        "imageOutputOptions",
        "prominentPeople",
      ],
      sizes: ["1K", "2K", "4K"],
      maxImages: 14,
      kind: "png",
    });
  },
  refusals: imageRefusals(model, { host, project }),
});

const geminiCases = [
  geminiCase("vertex-gemini", "gemini-3-pro-image", { shapes: ratios }),
  geminiCase("vertex-nano-banana", "gemini-nano-banana-2.1", {
    shapes: [...ratios, "1:4", "4:1", "1:8", "8:1"],
    levels: { MINIMAL: "low", MEDIUM: "medium", HIGH: "high" },
  }),
];

interface Reference {
  readonly referenceType?: string;
  readonly referenceId?: number;
  readonly referenceImage?: { readonly bytesBase64Encoded?: string };
  readonly maskImageConfig?: { readonly maskMode?: string };
}

interface Parameters {
  readonly sampleCount?: number;
  readonly aspectRatio?: string;
  readonly editMode?: string;
  readonly outputOptions?: { readonly mimeType?: string };
}

const parameterNames = words(`
  sampleCount aspectRatio seed negativePrompt guidanceScale language includeRaiReason
  includeSafetyAttributes personGeneration safetySetting addWatermark enhancePrompt
  sampleImageSize outputOptions storageUri editMode editConfig
`);

function readImagen(request: VendorRequest): ParsedRequest {
  const body = known(jsonOf(request), "root", ["instances", "parameters", "labels"]) as {
    readonly instances?: readonly unknown[];
    readonly parameters?: unknown;
  };
  const { prompt, referenceImages } = known(body.instances?.[0], "instances[0]", [
    "prompt",
    "referenceImages",
  ]) as { readonly prompt?: string; readonly referenceImages?: readonly Reference[] };
  const parameters: Parameters = known(body.parameters, "parameters", parameterNames);
  const { sampleCount = 4, aspectRatio, editMode, outputOptions } = parameters;
  if (sampleCount < 1 || sampleCount > 4) throw invalid("sampleCount must be between 1 and 4.");
  if (aspectRatio !== undefined && !["1:1", "3:4", "4:3", "9:16", "16:9"].includes(aspectRatio)) {
    throw invalid(`Invalid aspect ratio: ${aspectRatio}`);
  }
  const format = outputOptions?.mimeType?.replace("image/", "");
  return {
    prompt: prompt ?? "",
    n: sampleCount,
    ...(aspectRatio !== undefined && { aspect: aspectRatio }),
    ...(format !== undefined && { options: { output_format: format } }),
    ...(referenceImages && readReferences(referenceImages, editMode)),
  };
}

function readReferences(references: readonly Reference[], editMode: string | undefined) {
  const bytesOf = (field: string): Uint8Array[] =>
    references
      .filter(({ referenceType }) => referenceType === field)
      .map(({ referenceImage }) => Buffer.from(referenceImage?.bytesBase64Encoded ?? "", "base64"));
  const images = bytesOf("REFERENCE_TYPE_RAW");
  const [mask] = bytesOf("REFERENCE_TYPE_MASK");
  const [raw, masked] = references;
  if (images.length !== 1 || raw?.referenceId !== 1) throw invalid("one raw reference is needed");
  if (mask && masked?.maskImageConfig?.maskMode !== "MASK_MODE_USER_PROVIDED") {
    throw invalid("Invalid mask mode.");
  }
  if (editMode !== (mask ? "EDIT_MODE_INPAINT_INSERTION" : "EDIT_MODE_DEFAULT")) {
    throw invalid(`Invalid edit mode: ${editMode}`);
  }
  return { images, ...(mask && { mask }) };
}

async function predict(request: VendorRequest, generator: ImageGenerator): Promise<VendorResponse> {
  const parsed = readImagen(request);
  const kind = parsed.options?.output_format === "jpeg" ? "jpeg" : "png";
  const generated = await generator.generate(parsed, kind);
  return {
    body: {
      predictions:
        generated.length === 0
          ? [{ raiFilteredReason: held }]
          : generated.map((image) => ({
              mimeType: `image/${kind}`,
              bytesBase64Encoded: Buffer.from(image).toString("base64"),
            })),
    },
  };
}

const held =
  "Unable to show generated images. All images were filtered out because they violated Vertex AI's usage guidelines. You will not be charged for blocked images. Try rephrasing the prompt. If you think this was an error, send feedback. Support codes: 39322892";

const capability = "imagen-3.0-capability-001";

const imagenCase: FakeVendor = {
  name: "vertex-imagen",
  kind: "vertex",
  model: capability,
  config,
  basePath: "/v1",
  operations: ["generations", "edits"],
  source:
    "googleapis/js-genai, generateImagesParametersToVertex and editImageParametersInternalToVertex in src/converters/_models_converters.ts",
  open: (generator) => (request) => {
    if (checkRequest(request, capability) !== "predict")
      throw invalid("not a method of this model");
    return predict(request, generator);
  },
  refusals: [
    {
      kind: "moderation_blocked",
      ...refusal(
        400,
        "INVALID_ARGUMENT",
        "Image generation failed with the following error: The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices. Try rephrasing the prompt. If you think this was an error, send feedback.",
      ),
    },
    { kind: "moderation_blocked", body: { predictions: [{ raiFilteredReason: held }] } },
    {
      kind: "model_not_found",
      ...refusal(
        404,
        "NOT_FOUND",
        `Publisher model 'projects/${project}/locations/${location}/publishers/google/models/imagen-4.0-generate-001' was not found or your project does not have access to it.`,
      ),
    },
  ],
};

export const vertex: readonly FakeVendor[] = [...geminiCases, imagenCase];
