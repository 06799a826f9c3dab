/** Amazon Bedrock, with each request format of its image models. */
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import * as server from "./bedrock-server.ts";

const { invalid, known } = server;

interface ModelFamily {
  readonly maxPrompt: number;
  checkSize(width: number, height: number): void;
}

/** https://docs.aws.amazon.com/nova/latest/userguide/image-gen-access.html */
const nova: ModelFamily = {
  maxPrompt: 1024,
  checkSize: (width, height) => {
    const edges = [width, height];
    if (edges.some((edge) => edge < 320 || edge > 4096 || edge % 16 !== 0)) {
      throw invalid(`Value of (width, height) is not valid. Given: (${width}, ${height}).`);
    }
    if (width * height > 4_194_304 || Math.max(...edges) > 4 * Math.min(...edges)) {
      throw invalid(`Value of (width, height) is not valid. Given: (${width}, ${height}).`);
    }
  },
};

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html, part of the table. */
const titan: ModelFamily = {
  maxPrompt: 512,
  checkSize: (width, height) => {
    if (["1024x1024", "768x768", "512x512", "1152x768", "768x1152"].includes(`${width}x${height}`))
      return;
    throw invalid(`Value of (width, height) is not valid. Given: (${width}, ${height}).`);
  },
};

const tasks = {
  TEXT_IMAGE: ["textToImageParams", ["text", "negativeText", "style"]],
  IMAGE_VARIATION: [
    "imageVariationParams",
    ["images", "text", "negativeText", "similarityStrength"],
  ],
  INPAINTING: ["inPaintingParams", ["image", "maskImage", "maskPrompt", "text", "negativeText"]],
} as const;

function readCanvas(request: VendorRequest, family: ModelFamily): ParsedRequest {
  const body = jsonOf(request);
  const task = tasks[body.taskType as keyof typeof tasks];
  if (!task) throw invalid("Malformed input request: #/taskType is not a valid enum value");
  const [paramsKey, names] = task;
  known(body, ["taskType", paramsKey, "imageGenerationConfig"]);
  const { text, images, image, maskImage } = known(body[paramsKey], names);
  if (typeof text !== "string" || text.length < 1 || [...text].length > family.maxPrompt) {
    throw invalid(`Malformed input request: #/text: expected maxLength: ${family.maxPrompt}`);
  }
  const sources = (Array.isArray(images) ? images : image === undefined ? [] : [image]).map(
    server.imagesIn,
  );
  if (sources.length > 5 || (body.taskType !== "TEXT_IMAGE" && sources.length === 0)) {
    throw invalid("Malformed input request: #/images: 1 to 5 are needed");
  }
  for (const source of sources) {
    if (!["image/png", "image/jpeg"].includes(sniffImage(source) ?? "")) {
      throw invalid("Unsupported image type. Only JPEG and PNG are supported.");
    }
  }
  return {
    prompt: text,
    ...readConfig(body.imageGenerationConfig ?? {}, family, body.taskType === "INPAINTING"),
    ...(sources.length > 0 && { images: sources }),
    ...(maskImage !== undefined && { mask: server.imagesIn(maskImage) }),
  };
}

function readConfig(
  config: unknown,
  family: ModelFamily,
  fixed: boolean,
): Pick<ParsedRequest, "n"> {
  const {
    width,
    height,
    quality,
    numberOfImages = 1,
  } = known(config, [
    "cfgScale",
    "seed",
    "quality",
    "numberOfImages",
    ...(fixed ? [] : ["width", "height"]),
  ]);
  const n = Number(numberOfImages);
  if (n < 1 || n > 5) throw invalid("Malformed input request: #/numberOfImages: 1 to 5");
  if (quality !== undefined && quality !== "standard" && quality !== "premium") {
    throw invalid("Malformed input request: #/quality is not a valid enum value");
  }
  const sized = width !== undefined || height !== undefined;
  if (sized) family.checkSize(Number(width), Number(height));
  return {
    n,
    ...(sized && { size: `${width}x${height}` }),
    ...(quality !== undefined && {
      options: { quality: quality === "premium" ? "high" : "medium" },
    }),
  } as Pick<ParsedRequest, "n">;
}

async function generateImage(
  parsed: ParsedRequest,
  generator: ImageGenerator,
): Promise<VendorResponse> {
  const images = (await generator.generate(parsed)).map(server.base64);
  return { body: images.length > 0 ? { images, error: null } : { images, error: allHeld } };
}

const allHeld = "All of the generated images have been blocked by our content filters.";

/** https://docs.aws.amazon.com/nova/latest/userguide/image-gen-errors.html */
const filtered: FakeVendor["refusals"] = [
  {
    kind: "moderation_blocked",
    ...invalid(
      "This request has been blocked by our content filters. Please adjust your text prompt to submit a new request.",
    ),
  },
  { kind: "moderation_blocked", body: { images: [], error: allHeld } },
];

const canvas = (
  name: string,
  model: string,
  family: string,
  modelFamily: ModelFamily,
  signed: boolean,
): FakeVendor => ({
  name,
  kind: "bedrock",
  model,
  config: { region: server.region, family, ...(signed ? server.signer : { apiKey: server.key }) },
  operations: ["generations", "edits"],
  source:
    "https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html; https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html",
  open: (generator) => (request) => {
    server.checkRequest(request, model, signed);
    return generateImage(readCanvas(request, modelFamily), generator);
  },
  refusals: [...server.refusals, ...filtered],
});

const shapes = ["16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"];

interface Stability {
  readonly name: string;
  readonly model: string;
  readonly operations: FakeVendor["operations"];
  readonly fields: readonly string[];
  readonly formats: readonly string[];
}

function readStability(request: VendorRequest, { fields, formats }: Stability): ParsedRequest {
  const { prompt, aspect_ratio, output_format, mode, image, mask, strength } = known(
    jsonOf(request),
    fields,
  );
  if (typeof prompt !== "string") throw invalid("required key [prompt] not found");
  if (aspect_ratio !== undefined && !shapes.includes(String(aspect_ratio))) {
    throw invalid(`#/aspect_ratio: ${aspect_ratio} is not a valid enum value`);
  }
  if (output_format !== undefined && !formats.includes(String(output_format))) {
    throw invalid(`#/output_format: ${output_format} is not a valid enum value`);
  }
  if (fields.includes("mode") && (image !== undefined) !== (mode === "image-to-image")) {
    throw invalid("an image is for image-to-image, which needs one");
  }
  if (mode === "image-to-image" && !(Number(strength) >= 0 && Number(strength) <= 1)) {
    throw invalid("required key [strength] not found");
  }
  if (mode === "image-to-image" && aspect_ratio !== undefined) {
    throw invalid("aspect_ratio is only valid for text-to-image requests");
  }
  return {
    prompt,
    n: 1,
    ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
    ...(output_format !== undefined && { options: { output_format } }),
    ...(image !== undefined && { images: [server.imagesIn(image)] }),
    ...(mask !== undefined && { mask: server.imagesIn(mask) }),
  };
}

const stability = (dialect: Stability): FakeVendor => ({
  name: dialect.name,
  kind: "bedrock",
  model: dialect.model,
  config: { region: server.region, family: "stability", apiKey: server.key },
  operations: dialect.operations,
  source:
    "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-diffusion-3-5-large.html; https://docs.aws.amazon.com/bedrock/latest/userguide/stable-image-services.html",
  open: (generator) => async (request) => {
    server.checkRequest(request, dialect.model, false);
    const parsed = readStability(request, dialect);
    const format = parsed.options?.output_format;
    const kind = format === "jpeg" || format === "webp" ? format : "png";
    const images = (await generator.generate(parsed, kind)).map(server.base64);
    if (images.length === 0) return { body: { finish_reasons: ["Filter reason: output image"] } };
    return { body: { seeds: [2130420379], finish_reasons: [null], images } };
  },
  refusals: [
    ...server.refusals,
    { kind: "moderation_blocked", body: { finish_reasons: ["Filter reason: prompt"] } },
    { kind: "upstream_error", body: { finish_reasons: ["Inference error"] } },
  ],
});

export const bedrock: readonly FakeVendor[] = [
  canvas("bedrock-nova-canvas", "amazon.nova-canvas-v1:0", "nova", nova, true),
  canvas("bedrock-titan", "amazon.titan-image-generator-v2:0", "titan", titan, false),
  stability({
    name: "bedrock-stability",
    model: "stability.sd3-5-large-v1:0",
    operations: ["generations", "edits"],
    fields: words("prompt aspect_ratio mode seed negative_prompt output_format image strength"),
    formats: ["png", "jpeg"],
  }),
  stability({
    name: "bedrock-stability-inpaint",
    model: "us.stability.stable-image-inpaint-v1:0",
    operations: ["edits"],
    fields: words("prompt image mask grow_mask negative_prompt seed style_preset output_format"),
    formats: ["png", "jpeg", "webp"],
  }),
];
