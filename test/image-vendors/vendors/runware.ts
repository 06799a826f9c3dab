/** Fake of Runware, with an image-to-image checkpoint and a model that takes references. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { isWhole, present, wrappedImage } from "./job-server.ts";

const key = "Rw8Kx2Lm9Pq4Tz7Yb1Nc6Vd3Fg5Hj0Sa";

type Fields = Readonly<Record<string, unknown>>;

const refuse = (status: number, code: string, message: string, parameter?: string) =>
  ({
    status,
    body: {
      errors: [
        {
          code,
          message,
          ...(parameter !== undefined && { parameter }),
          taskType: "imageInference",
          taskUUID: "50836053-a0ee-4cf5-b9d6-ae7c5d140ada",
          documentation: "https://runware.ai/docs/platform/errors",
        },
      ],
    },
  }) satisfies VendorResponse;

const invalid = (field: string, why: string): VendorResponse =>
  refuse(400, `invalid${field[0]?.toUpperCase()}${field.slice(1)}`, why, field);

const common = words(`
  taskType taskUUID model positivePrompt negativePrompt seed width height numberResults outputType
  outputFormat outputQuality includeCost deliveryMethod ttl safety steps CFGScale scheduler
  strength
`);

interface Model {
  readonly fields: readonly string[];
  /** Members of `inputs`. */
  readonly inputs?: readonly string[];
}

const models: Readonly<Record<string, Model>> = {
  "runware:101@1": { fields: ["seedImage", "maskImage", "maskMargin", "lora"] },
  "bfl:5@1": { fields: ["inputs", "providerSettings"], inputs: ["referenceImages"] },
  "bria:20@1": { fields: ["inputs", "providerSettings"], inputs: ["image", "mask"] },
};

const formats: Readonly<Record<string, "jpeg" | "png" | "webp">> = {
  JPG: "jpeg",
  PNG: "png",
  WEBP: "webp",
};

const isUuid = (value: unknown): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(value));

function check(task: Fields): void {
  const { taskType, taskUUID, model, positivePrompt, width, height, numberResults } = task;
  if (taskType !== "imageInference") throw refuse(400, "unsupportedTaskType", "No such task");
  if (!isUuid(taskUUID)) throw invalid("taskUUID", "It must be a UUID v4.");
  const known = models[String(model)];
  if (!known) throw refuse(400, "invalidModel", `Invalid model '${model}'.`, "model");
  rejectUnknownFields(task, [...common, ...known.fields]);
  rejectUnknownFields((task.inputs ?? {}) as Fields, known.inputs ?? []);
  if (typeof positivePrompt !== "string") throw invalid("positivePrompt", "It is missing.");
  if (!isWhole(numberResults, 1, 20)) throw invalid("numberResults", "It must be from 1 to 20.");
  if ((width === undefined) !== (height === undefined)) throw invalid("width", "Both or none.");
  const needed = model === "runware:101@1";
  if (needed && width === undefined) throw refuse(400, "missingWidth", "It is required.", "width");
  if (!isWhole(width, 128, 4096)) throw invalid("width", "It must be from 128 to 4096.");
  if (!isWhole(height, 128, 4096)) throw invalid("height", "It must be from 128 to 4096.");
}

function parseRequest(task: Fields): ParsedRequest {
  const { positivePrompt, numberResults = 1, width, height, outputFormat } = task;
  const { seedImage, maskImage, inputs } = task;
  const generatedImage = (value: unknown) =>
    wrappedImage(value, () => invalid("seedImage", "It must be a UUID, a URL or base64."));
  const { referenceImages, image = seedImage, mask = maskImage } = (inputs ?? {}) as Fields;
  const images = Array.isArray(referenceImages)
    ? referenceImages
    : [image].filter((source) => source !== undefined);
  return {
    prompt: String(positivePrompt),
    n: Number(numberResults),
    ...(width !== undefined && { size: `${width}x${height}` }),
    options: present({ output_format: formats[String(outputFormat)] }),
    ...(images.length > 0 && { images: images.map(generatedImage) }),
    ...(mask !== undefined && { mask: generatedImage(mask) }),
  };
}

async function infer(request: VendorRequest, generator: ImageGenerator): Promise<VendorResponse> {
  const tasks = jsonOf(request) as unknown;
  if (!Array.isArray(tasks)) throw refuse(400, "invalidRequest", "The body must be an array.");
  const [task] = tasks as Fields[];
  if (!task) throw refuse(400, "invalidRequest", "There is no task.");
  check(task);
  const { taskUUID, outputType = "URL", outputFormat = "JPG", includeCost } = task;
  const format = formats[String(outputFormat)];
  if (!format) throw invalid("outputFormat", "Supported values are: 'JPG', 'PNG', 'WEBP'.");
  const generated = await generator.generate(parseRequest(task), format);
  return {
    body: {
      data: generated.map((image, at) => ({
        taskType: "imageInference",
        imageUUID: `bb6a5e5c-1f2e-4b7a-9c3d-${String(at).padStart(12, "0")}`,
        taskUUID,
        seed: 7_960_811_543 + at,
        ...(includeCost === true && { cost: 0.0019 }),
        ...(outputType === "base64Data"
          ? { imageBase64Data: Buffer.from(image).toString("base64") }
          : { imageURL: generator.link(image, request.origin) }),
      })),
    },
  };
}

const open: FakeVendor["open"] = (generator) => (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey();
  if (method !== "POST" || path !== "/v1") throw refuse(404, "notFound", "Nothing is here.");
  return infer(request, generator);
};

const wrongKey = (): VendorResponse =>
  refuse(
    401,
    "invalidApiKey",
    "Invalid API key. Get one at https://my.runware.ai/signup",
    "apiKey",
  );

const withoutStatus = ({ body }: VendorResponse): VendorResponse => ({ body });

const refusals: FakeVendor["refusals"] = [
  { ...wrongKey(), kind: "upstream_credentials" },
  {
    ...refuse(400, "invalidModel", "Invalid model 'house:1@1'.", "model"),
    kind: "model_not_found",
  },
  {
    ...refuse(402, "insufficientCredits", "Your account balance is insufficient."),
    kind: "insufficient_quota",
  },
  {
    ...refuse(429, "rateLimitExceeded", "Too many requests."),
    headers: { "retry-after": "2" },
    kind: "upstream_rate_limit",
  },
  {
    ...refuse(400, "invalidProviderContent", "Explicit content blocked by the provider."),
    kind: "moderation_blocked",
  },
  // Errors also come with status 200, in place of images.
  {
    ...withoutStatus(refuse(200, "contentPolicyViolation", "The prompt violates the policy.")),
    kind: "moderation_blocked",
  },
  {
    ...withoutStatus(refuse(200, "invalidWidth", "It must be a multiple of 64.", "width")),
    kind: "upstream_rejected",
  },
  {
    ...withoutStatus(refuse(200, "inferenceError", "The inference failed.")),
    kind: "upstream_error",
  },
  {
    ...refuse(400, "unsupportedParameter", "Unsupported use of 'seedImage'.", "seedImage"),
    kind: "upstream_rejected",
  },
  { ...refuse(503, "noAvailableServer", "No server is free."), kind: "upstream_overloaded" },
  { ...refuse(504, "timeoutProvider", "The provider did not answer."), kind: "upstream_timeout" },
];

const vendor = (
  name: string,
  model: string,
  operations: FakeVendor["operations"] = ["generations", "edits"],
): FakeVendor => ({
  name,
  kind: "runware",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations,
  source:
    "https://runware.ai/docs/en/image-inference, https://runware.ai/docs/platform/errors, and https://github.com/Runware/runware-typescript",
  open,
  refusals,
});

export const runware: readonly FakeVendor[] = [
  vendor("runware-checkpoint", "runware:101@1"),
  vendor("runware-references", "bfl:5@1"),
  // Without an image it has nothing to work on.
  vendor("runware-image-mask", "bria:20@1", ["edits"]),
];
