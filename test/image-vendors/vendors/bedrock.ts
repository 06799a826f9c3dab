/** Amazon Bedrock, by each of the bodies that its painters take. */
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import {
  jsonOf,
  type Order,
  type PictureVendor,
  type Studio,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import * as desk from "./bedrock-server.ts";

const { invalid, known } = desk;

interface Painter {
  readonly maxPrompt: number;
  checkSize(width: number, height: number): void;
}

/** https://docs.aws.amazon.com/nova/latest/userguide/image-gen-access.html */
const nova: Painter = {
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
const titan: Painter = {
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

function readCanvas(request: VendorRequest, painter: Painter): Order {
  const body = jsonOf(request);
  const task = tasks[body.taskType as keyof typeof tasks];
  if (!task) throw invalid("Malformed input request: #/taskType is not a valid enum value");
  const [place, names] = task;
  known(body, ["taskType", place, "imageGenerationConfig"]);
  const { text, images, image, maskImage } = known(body[place], names);
  if (typeof text !== "string" || text.length < 1 || [...text].length > painter.maxPrompt) {
    throw invalid(`Malformed input request: #/text: expected maxLength: ${painter.maxPrompt}`);
  }
  const sources = (Array.isArray(images) ? images : image === undefined ? [] : [image]).map(
    desk.picturesIn,
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
    ...readConfig(body.imageGenerationConfig ?? {}, painter, body.taskType === "INPAINTING"),
    ...(sources.length > 0 && { images: sources }),
    ...(maskImage !== undefined && { mask: desk.picturesIn(maskImage) }),
  };
}

function readConfig(given: unknown, painter: Painter, fixed: boolean): Pick<Order, "n"> {
  const {
    width,
    height,
    quality,
    numberOfImages = 1,
  } = known(given, [
    ...["cfgScale", "seed", "quality", "numberOfImages"],
    ...(fixed ? [] : ["width", "height"]),
  ]);
  const n = Number(numberOfImages);
  if (n < 1 || n > 5) throw invalid("Malformed input request: #/numberOfImages: 1 to 5");
  if (quality !== undefined && quality !== "standard" && quality !== "premium") {
    throw invalid("Malformed input request: #/quality is not a valid enum value");
  }
  const sized = width !== undefined || height !== undefined;
  if (sized) painter.checkSize(Number(width), Number(height));
  return {
    n,
    ...(sized && { size: `${width}x${height}` }),
    ...(quality !== undefined && {
      options: { quality: quality === "premium" ? "high" : "medium" },
    }),
  } as Pick<Order, "n">;
}

async function paint(order: Order, studio: Studio): Promise<VendorResponse> {
  const images = (await studio.take(order)).map(desk.base64);
  return { body: images.length > 0 ? { images, error: null } : { images, error: allHeld } };
}

const allHeld = "All of the generated images have been blocked by our content filters.";

/** https://docs.aws.amazon.com/nova/latest/userguide/image-gen-errors.html */
const filtered: PictureVendor["refusals"] = [
  {
    fault: "moderation_blocked",
    ...invalid(
      "This request has been blocked by our content filters. Please adjust your text prompt to submit a new request.",
    ),
  },
  { fault: "moderation_blocked", body: { images: [], error: allHeld } },
];

const canvas = (
  name: string,
  model: string,
  family: string,
  painter: Painter,
  signed: boolean,
): PictureVendor => ({
  name,
  kind: "bedrock",
  model,
  config: { region: desk.region, family, ...(signed ? desk.signer : { apiKey: desk.key }) },
  operations: ["generations", "edits"],
  source:
    "https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html; https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html",
  open: (studio) => (request) => {
    desk.checkDoor(request, model, signed);
    return paint(readCanvas(request, painter), studio);
  },
  refusals: [...desk.refusals, ...filtered],
});

const shapes = ["16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"];

interface Stability {
  readonly name: string;
  readonly model: string;
  readonly operations: PictureVendor["operations"];
  readonly fields: readonly string[];
  readonly formats: readonly string[];
}

function readStability(request: VendorRequest, { fields, formats }: Stability): Order {
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
    ...(image !== undefined && { images: [desk.picturesIn(image)] }),
    ...(mask !== undefined && { mask: desk.picturesIn(mask) }),
  };
}

const stability = (speech: Stability): PictureVendor => ({
  name: speech.name,
  kind: "bedrock",
  model: speech.model,
  config: { region: desk.region, family: "stability", apiKey: desk.key },
  operations: speech.operations,
  source:
    "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-diffusion-3-5-large.html; https://docs.aws.amazon.com/bedrock/latest/userguide/stable-image-services.html",
  open: (studio) => async (request) => {
    desk.checkDoor(request, speech.model, false);
    const order = readStability(request, speech);
    const format = order.options?.output_format;
    const kind = format === "jpeg" || format === "webp" ? format : "png";
    const images = (await studio.take(order, kind)).map(desk.base64);
    if (images.length === 0) return { body: { finish_reasons: ["Filter reason: output image"] } };
    return { body: { seeds: [2130420379], finish_reasons: [null], images } };
  },
  refusals: [
    ...desk.refusals,
    { fault: "moderation_blocked", body: { finish_reasons: ["Filter reason: prompt"] } },
    { fault: "upstream_error", body: { finish_reasons: ["Inference error"] } },
  ],
});

export const bedrock: readonly PictureVendor[] = [
  canvas("bedrock-nova-canvas", "amazon.nova-canvas-v1:0", "nova", nova, true),
  canvas("bedrock-titan", "amazon.titan-image-generator-v2:0", "titan", titan, false),
  stability({
    name: "bedrock-stability",
    model: "stability.sd3-5-large-v1:0",
    operations: ["generations", "edits"],
    fields: [
      ...["prompt", "aspect_ratio", "mode", "seed", "negative_prompt", "output_format"],
      ...["image", "strength"],
    ],
    formats: ["png", "jpeg"],
  }),
  stability({
    name: "bedrock-stability-inpaint",
    model: "us.stability.stable-image-inpaint-v1:0",
    operations: ["edits"],
    fields: [
      ...["prompt", "image", "mask", "grow_mask", "negative_prompt", "seed", "style_preset"],
      "output_format",
    ],
    formats: ["png", "jpeg", "webp"],
  }),
];
