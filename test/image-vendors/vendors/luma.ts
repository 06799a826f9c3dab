/** Fake of Luma with both of its APIs: Dream Machine for Photon, and the newer one for uni. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { createJobStore, type JobStore, plainImage, present } from "./job-server.ts";

const key = "luma-7c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f";

type Fields = Readonly<Record<string, unknown>>;

const refuse = (status: number, detail: unknown): VendorResponse => ({ status, body: { detail } });

const invalid = (field: string, msg: string): VendorResponse =>
  refuse(422, [{ type: "enum", loc: ["body", field], msg, input: null }]);

interface Api {
  /** The path that takes jobs. A job is polled at `jobs` followed by its id. */
  readonly orders: string;
  readonly jobs: string;
  readonly models: readonly string[];
  readonly shapes: readonly string[];
  readonly fields: readonly string[];
  readonly working: string;
  readonly maxPrompt: number;
  orderOf(fields: Fields): ParsedRequest;
  /** The response for a job in this state. */
  jobOf(id: string, state: string, job: Made): object;
}

interface Made {
  readonly fields: Fields;
  readonly link: string | null;
}

const photonFormats: Readonly<Record<string, string>> = { jpg: "jpeg", png: "png" };

const dreamMachine: Api = {
  orders: "/dream-machine/v1/generations/image",
  jobs: "/dream-machine/v1/generations/",
  models: ["photon-1", "photon-flash-1"],
  shapes: ["1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21"],
  fields: words(`
    model prompt aspect_ratio format callback_url sync sync_timeout image_ref style_ref
    character_ref modify_image_ref generation_type seed
  `),
  working: "dreaming",
  maxPrompt: 5000,
  orderOf: ({ prompt, aspect_ratio, format }) => {
    if (format !== undefined && !photonFormats[String(format)]) {
      throw invalid("format", "Input should be 'jpg' or 'png'");
    }
    return {
      prompt: String(prompt),
      n: 1,
      ...(typeof aspect_ratio === "string" && { aspect: aspect_ratio }),
      options: present({ output_format: photonFormats[String(format)] }),
    };
  },
  jobOf: (id, state, { fields, link }) => ({
    id,
    generation_type: "image",
    state,
    failure_reason: null,
    created_at: "2026-03-02T10:11:12.131000Z",
    assets: state === "completed" ? { video: null, image: link, progress_video: null } : null,
    model: fields.model,
    request: { generation_type: "image", model: fields.model, prompt: fields.prompt },
  }),
};

const agents: Api = {
  orders: "/v1/generations",
  jobs: "/v1/generations/",
  models: ["uni-1", "uni-1-max"],
  shapes: ["3:1", "2:1", "16:9", "3:2", "1:1", "2:3", "9:16", "1:2", "1:3"],
  fields: words(`
    model type prompt aspect_ratio output_format image_ref source style user_id web_search seed
  `),
  working: "processing",
  maxPrompt: 6000,
  orderOf: ({ prompt, aspect_ratio, output_format, type, source, image_ref, user_id }) => {
    if (!["png", "jpeg", undefined].includes(output_format as string | undefined)) {
      throw invalid("output_format", "Input should be 'png' or 'jpeg'");
    }
    if ((type === "image_edit") !== (source !== undefined)) throw invalid("source", "mismatch");
    const references = source === undefined ? [] : [source, ...((image_ref ?? []) as unknown[])];
    if (references.length > 9) throw invalid("image_ref", "At most 8");
    const images = references.map((entry) => {
      const { data, media_type } = entry as Fields;
      if (typeof media_type !== "string") throw refuse(422, "media_type is required with data");
      return plainImage(data, () => refuse(422, "Invalid base64 image data"));
    });
    return {
      prompt: String(prompt),
      n: 1,
      ...(typeof aspect_ratio === "string" && { aspect: aspect_ratio }),
      options: present({ output_format, user: user_id }),
      ...(images.length > 0 && { images }),
    };
  },
  jobOf: (id, state, { fields, link }) => ({
    id,
    type: fields.type,
    state,
    model: fields.model,
    created_at: "2026-03-02T10:11:12.131000Z",
    output: state === "completed" ? (link ? [{ type: "image", url: link }] : []) : [],
    failure_reason: null,
    failure_code: null,
  }),
};

async function submit(
  request: VendorRequest,
  api: Api,
  generator: ImageGenerator,
  jobStore: JobStore<Made>,
): Promise<VendorResponse> {
  const fields = jsonOf(request, api.fields);
  const { model, prompt, aspect_ratio } = fields;
  if (!api.models.includes(String(model))) {
    throw invalid("model", `Input should be '${api.models.join("' or '")}'`);
  }
  if (typeof prompt !== "string") throw refuse(400, "Prompt is required");
  if (prompt.length > api.maxPrompt) throw refuse(400, "Prompt is too long");
  if (aspect_ratio !== undefined && !api.shapes.includes(String(aspect_ratio))) {
    throw invalid("aspect_ratio", `Input should be '${api.shapes.join("', '")}'`);
  }
  const parsed = api.orderOf(fields);
  const [image] = await generator.generate(
    parsed,
    parsed.options?.output_format === "png" ? "png" : "jpeg",
  );
  const made = { fields, link: image ? generator.link(image, request.origin) : null };
  const id = jobStore.leave(made);
  return { status: 201, body: api.jobOf(id, "queued", made) };
}

const open =
  (api: Api): FakeVendor["open"] =>
  (generator) => {
    const jobStore = createJobStore<Made>();
    return (request) => {
      const { method, path, headers } = request;
      if (headers.get("authorization") !== `Bearer ${key}`) throw refuse(401, "Invalid API key");
      if (method === "POST" && path === api.orders)
        return submit(request, api, generator, jobStore);
      const id = path.slice(api.jobs.length);
      const found = path.startsWith(api.jobs) ? jobStore.visit(id) : undefined;
      if (!found) throw refuse(404, "Generation not found");
      if (method === "DELETE") return { status: 204, body: "" };
      return { body: api.jobOf(id, found.done ? "completed" : api.working, found.result) };
    };
  };

const failed = (api: Api, reason: string, code: string | null): VendorResponse => {
  const options = api.jobOf("gone", "failed", { fields: { model: api.models[0] }, link: null });
  return { status: 201, body: { ...options, failure_reason: reason, failure_code: code } };
};

const account = [
  { ...refuse(401, "Invalid API key"), kind: "upstream_credentials" },
  { ...invalid("model", "Input should be 'photon-1'"), kind: "model_not_found" },
  { ...refuse(402, "Insufficient balance"), kind: "insufficient_quota" },
  {
    ...refuse(429, "Rate limit exceeded"),
    headers: { "retry-after": "12" },
    kind: "upstream_rate_limit",
  },
  { ...refuse(422, "Invalid base64 image data"), kind: "upstream_rejected" },
  { ...refuse(503, "Service unavailable"), kind: "upstream_overloaded" },
  { ...refuse(502, "Bad gateway"), kind: "upstream_error" },
] as const;

export const luma: readonly FakeVendor[] = [
  {
    name: "luma-photon",
    kind: "luma",
    model: "photon-1",
    config: { apiKey: key },
    basePath: "/dream-machine/v1",
    operations: ["generations"],
    source: "https://github.com/lumalabs/lumaai-node, and https://docs.lumalabs.ai/docs/errors",
    open: open(dreamMachine),
    refusals: [
      ...account,
      { ...refuse(400, "Insufficient credits"), kind: "insufficient_quota" },
      {
        ...failed(dreamMachine, "400: prompt not allowed because advanced moderation failed", null),
        kind: "moderation_blocked",
      },
      { ...failed(dreamMachine, "Contains blacklisted words", null), kind: "moderation_blocked" },
      { ...failed(dreamMachine, "Job processing failed", null), kind: "upstream_error" },
    ],
  },
  {
    name: "luma-uni",
    kind: "luma-agents",
    model: "uni-1",
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations", "edits"],
    source: "https://docs.agents.lumalabs.ai, and https://github.com/lumalabs/luma-agents-python",
    open: open(agents),
    refusals: [
      ...account,
      {
        ...failed(agents, "The prompt violated content guidelines", "content_moderated"),
        kind: "moderation_blocked",
      },
      {
        ...failed(agents, "Ran out of funds mid-generation", "budget_exhausted"),
        kind: "insufficient_quota",
      },
      { ...failed(agents, "Too many jobs", "rate_limited"), kind: "upstream_rate_limit" },
      { ...failed(agents, "Internal model error", "generation_failed"), kind: "upstream_error" },
    ],
  },
];
