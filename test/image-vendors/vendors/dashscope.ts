/** Fake of Alibaba's Model Studio: one synchronous endpoint, and three with jobs. */
import type { FakeVendor, ImageGenerator, VendorRequest, VendorResponse } from "../image-vendor.ts";
import { jsonOf } from "../image-vendor.ts";
import { dashscopeRefusals, refusal } from "./dashscope-refusals.ts";
import { type EndpointName, endpointSpecs, key, parseRequest } from "./dashscope-requests.ts";

const requestId = "4909100c-7b5a-9f92-bfe5-0123456789ab";

interface FakeJob {
  /** Status requests until the job is done. */
  left: number;
  readonly done: object;
}

const open =
  (model: string, endpoint: EndpointName) =>
  (generator: ImageGenerator): ((request: VendorRequest) => Promise<VendorResponse>) => {
    const jobs = new Map<string, FakeJob>();
    return async (request) => {
      if (request.headers.get("authorization") !== `Bearer ${key}`) {
        throw refusal(401, "InvalidApiKey", "Invalid API-key provided.");
      }
      const requested = /^\/api\/v1\/tasks\/([\w-]+)$/.exec(request.path)?.[1];
      if (requested !== undefined && request.method === "GET")
        return progress(requested, jobs.get(requested));
      const body = jsonOf(request);
      if (body.model !== model) {
        throw refusal(404, "ModelNotFound", `The model ${body.model} does not exist.`);
      }
      const { path, job, response: respond } = endpointSpecs[endpoint];
      if (request.method !== "POST" || !path.includes(request.path)) {
        throw refusal(400, "InvalidParameter", "url error, please check url!");
      }
      const async = request.headers.get("x-dashscope-async") === "enable";
      if (job && !async) {
        throw refusal(403, "AccessDenied", "current user api does not support synchronous calls.");
      }
      if (!job && async) {
        throw refusal(403, "AccessDenied", "current user api does not support asynchronous calls.");
      }
      const parsed = parseRequest(body, model, endpoint, request.path);
      const links = (await generator.generate(parsed)).map((image) =>
        generator.link(image, request.origin),
      );
      const done = respond(links, parsed);
      if (!job) return { body: { ...done, request_id: requestId } };
      const id = `0385dc79-5ff8-4d82-bcb6-${String(jobs.size).padStart(12, "0")}`;
      // One of them takes longer.
      jobs.set(id, { left: model === "wan2.2-t2i-flash" ? 1 : 0, done });
      return {
        body: { output: { task_status: "PENDING", task_id: id }, request_id: requestId },
      };
    };
  };

function progress(id: string, job: FakeJob | undefined): VendorResponse {
  if (!job) {
    return {
      body: { request_id: requestId, output: { task_id: id, task_status: "UNKNOWN" } },
    };
  }
  const times = {
    submit_time: "2026-03-31 19:57:58.840",
    scheduled_time: "2026-03-31 19:57:58.877",
  };
  if (job.left-- > 0) {
    const output = { task_id: id, task_status: "RUNNING", ...times };
    return { body: { request_id: requestId, output } };
  }
  const { output, usage } = job.done as { output: object; usage: object };
  return {
    body: {
      request_id: requestId,
      output: {
        task_id: id,
        task_status: "SUCCEEDED",
        ...times,
        end_time: "2026-03-31 19:58:11.563",
        ...output,
      },
      usage,
    },
  };
}

interface Case {
  readonly name: string;
  readonly model: string;
  readonly endpoint: EndpointName;
  readonly operations: FakeVendor["operations"];
  readonly source: string;
}

const help = "https://www.alibabacloud.com/help/en/model-studio";

const cases: readonly Case[] = [
  {
    name: "dashscope-qwen-image",
    model: "qwen-image-plus",
    endpoint: "messages",
    operations: ["generations"],
    source: `${help}/qwen-image-api`,
  },
  {
    name: "dashscope-qwen-image-2",
    model: "qwen-image-2.0-pro",
    endpoint: "messages",
    operations: ["generations", "edits"],
    source: `${help}/qwen-image-edit-api, ${help}/qwen-image-generation-and-editing-api-reference`,
  },
  {
    name: "dashscope-wan2.7",
    model: "wan2.7-image",
    endpoint: "messages-operation",
    operations: ["generations", "edits"],
    source:
      "https://docs.qwencloud.com/api-reference/image-generation/wan27-image-gen-edit/query-result",
  },
  {
    name: "dashscope-wan2.2",
    model: "wan2.2-t2i-flash",
    endpoint: "prompt-operation",
    operations: ["generations"],
    source: `${help}/text-to-image-v2-api-reference`,
  },
  {
    name: "dashscope-wan2.5-edit",
    model: "wan2.5-i2i-preview",
    endpoint: "prompt-operation",
    operations: ["edits"],
    source: `${help}/wan2-5-image-edit-api-reference`,
  },
  {
    name: "dashscope-wanx-edit",
    model: "wanx2.1-imageedit",
    endpoint: "masked-operation",
    operations: ["edits"],
    source: `${help}/wanx-image-edit`,
  },
];

export const dashscope: readonly FakeVendor[] = cases.map(
  ({ name, model, endpoint, operations, source }): FakeVendor => ({
    name,
    kind: "dashscope",
    model,
    config: { apiKey: key },
    basePath: "/api/v1",
    operations,
    source,
    open: open(model, endpoint),
    refusals: dashscopeRefusals(model),
  }),
);
