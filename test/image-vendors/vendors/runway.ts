/** Fake of Runway: runwayml 5.24.0 (text_to_image and tasks), and docs.dev.runwayml.com/errors. */
import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { createJobStore, type JobStore, present, wrappedImage } from "./job-server.ts";

const key = "key_0123456789abcdef0123456789abcdef";

interface Model {
  readonly fields: readonly string[];
  readonly ratio: RegExp;
  readonly most: number;
  readonly references: number;
}

const models: Readonly<Record<string, Model>> = {
  gen4_image: {
    fields: ["seed", "contentModeration"],
    ratio: /^\d+:\d+$/,
    most: 1,
    references: 3,
  },
  gpt_image_2: {
    fields: ["background", "quality", "outputCount"],
    ratio: /^(auto|\d+:\d+)$/,
    most: 10,
    references: 16,
  },
  muse_image: { fields: ["outputFormat"], ratio: /^(auto|\d+:\d+)$/, most: 1, references: 10 },
};

const refuse = (status: number, error: string, more: object = {}): VendorResponse => ({
  status,
  body: { error, ...more },
});
const invalid = (path: string, message: string): VendorResponse =>
  refuse(400, "Validation of body failed", {
    issues: [{ code: "invalid", path: [path], message }],
  });

function parseRequest(fields: Readonly<Record<string, unknown>>, model: Model): ParsedRequest {
  const { promptText, ratio, referenceImages, outputCount = 1, quality, background } = fields;
  if (typeof promptText !== "string" || promptText === "") throw invalid("promptText", "Required");
  if (!model.ratio.test(String(ratio))) throw invalid("ratio", "Invalid enum value");
  if (Number(outputCount) > model.most) throw invalid("outputCount", "Too many");
  const references = (referenceImages ?? []) as readonly { readonly uri: unknown }[];
  if (references.length > model.references) throw invalid("referenceImages", "Too many");
  const images = references.map(({ uri }) =>
    wrappedImage(uri, () => invalid("referenceImages", "Invalid asset")),
  );
  return {
    prompt: promptText,
    n: Number(outputCount),
    ...(/^\d/.test(String(ratio)) && { size: String(ratio).replace(":", "x") }),
    options: present({ quality, background, output_format: fields.outputFormat }),
    ...(images.length > 0 && { images }),
  };
}

async function submit(
  request: VendorRequest,
  generator: ImageGenerator,
  jobStore: JobStore<readonly string[]>,
): Promise<VendorResponse> {
  const { model: name } = jsonOf(request);
  const model = models[String(name)];
  if (!model) throw refuse(400, `Model variant ${String(name)} is not available.`);
  const common = words("model promptText ratio referenceImages");
  const fields = jsonOf(request, [...common, ...model.fields]);
  const parsed = parseRequest(fields, model);
  const format = (fields.outputFormat ?? "png") as "png" | "jpeg" | "webp";
  const images = await generator.generate(parsed, format);
  const id = jobStore.leave(images.map((image) => generator.link(image, request.origin)));
  return { body: { id, estimatedCost: { credits: 8 } } };
}

const task = (id: string, status: string, more: object = {}) => ({
  id,
  createdAt: "2026-11-17T10:11:12.131Z",
  status,
  ...more,
});

const open: FakeVendor["open"] = (generator) => {
  const jobStore = createJobStore<readonly string[]>();
  return (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw refuse(401, "Unauthorized");
    if (headers.get("x-runway-version") !== "2024-11-06")
      throw refuse(400, "X-Runway-Version header is required");
    if (method === "POST" && path === "/v1/text_to_image")
      return submit(request, generator, jobStore);
    const id = /^\/v1\/tasks\/(.+)$/.exec(path)?.[1] ?? "";
    const found = jobStore.visit(id);
    if (!found) throw refuse(404, "Task not found");
    if (method === "DELETE") return { status: 204, body: "" };
    return {
      body: found.done
        ? task(id, "SUCCEEDED", { output: found.result, cost: { credits: 8 } })
        : task(id, "RUNNING", { progress: 0.5, estimatedCost: { credits: 8 } }),
    };
  };
};

const failed = (failureCode: string, failure: string): VendorResponse => ({
  body: task("gone", "FAILED", { failure, failureCode, cost: { credits: 0 } }),
});

const refusals: FakeVendor["refusals"] = [
  { ...refuse(401, "Unauthorized"), kind: "upstream_credentials" },
  { ...refuse(400, "Model variant gen9 is not available."), kind: "model_not_found" },
  {
    ...refuse(400, "You do not have enough credits to run this task."),
    kind: "insufficient_quota",
  },
  { ...invalid("ratio", "Invalid enum value"), kind: "upstream_rejected" },
  {
    ...refuse(429, "Too many requests"),
    headers: { "retry-after": "12" },
    kind: "upstream_rate_limit",
  },
  {
    ...failed("SAFETY.INPUT.TEXT", "The prompt was flagged by our content moderation."),
    kind: "moderation_blocked",
  },
  {
    ...failed("INPUT_PREPROCESSING.SAFETY.TEXT", "The prompt was flagged."),
    kind: "moderation_blocked",
  },
  { ...failed("ASSET.INVALID", "The image is invalid."), kind: "upstream_rejected" },
  { ...failed("INTERNAL.BAD_OUTPUT.CODE01", "Something went wrong."), kind: "upstream_error" },
  { ...refuse(503, "Service unavailable"), kind: "upstream_overloaded" },
  { ...refuse(502, "Bad gateway"), kind: "upstream_error" },
];

const vendor = (name: string, model: string): FakeVendor => ({
  name,
  kind: "runway",
  model,
  config: { apiKey: key },
  operations: ["generations", "edits"],
  source: "runwayml 5.24.0 (PyPI), and https://docs.dev.runwayml.com/errors/task-failures",
  open,
  refusals,
});

export const runway: readonly FakeVendor[] = [
  vendor("runway-gen4", "gen4_image"),
  vendor("runway-gpt-image-2", "gpt_image_2"),
  vendor("runway-muse", "muse_image"),
];
