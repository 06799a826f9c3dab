/** Images of Microsoft Foundry: MAI-Image, FLUX.2 and FLUX.1, each at its own path. */
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
import { toBase64 } from "./data-url.ts";
import { readForm } from "./form-request.ts";
import { isWhole, plainImage, present } from "./job-server.ts";

const key = "foundry-9d8c7b6a5f4e3d2c1b0a";

const no = (status: number, code: string, message: string): VendorResponse => ({
  status,
  body: { error: { code, message } },
});
const invalid = (message: string): VendorResponse => no(400, "BadRequest", message);

const refusals: FakeVendor["refusals"] = [
  {
    kind: "upstream_credentials",
    ...no(401, "401", "Access denied due to invalid subscription key or wrong API endpoint."),
  },
  {
    kind: "model_not_found",
    ...no(404, "DeploymentNotFound", "The API deployment for this resource does not exist."),
  },
  {
    kind: "upstream_rate_limit",
    ...no(429, "RateLimitReached", "Rate limit of 2 per 60s exceeded. Please wait 12 seconds."),
    headers: { "retry-after": "12" },
  },
  { kind: "upstream_rejected", ...invalid("width and height must be at least 768") },
  {
    kind: "moderation_blocked",
    ...no(400, "content_filter", "The response was filtered due to the prompt triggering a policy"),
  },
  { kind: "upstream_overloaded", ...no(503, "503", "The service is temporarily unavailable.") },
];

const sizeIn = ({
  width,
  height,
}: Readonly<Record<string, unknown>>): Pick<ParsedRequest, "size"> =>
  width === undefined ? {} : { size: `${String(width)}x${String(height)}` };

const images = (generated: readonly Uint8Array[]) => ({
  created: 1_764_000_000,
  data: generated.map((image) => ({ b64_json: toBase64(image) })),
});

/** The operations of one family, by path. */
type Paths = Readonly<
  Record<string, (request: VendorRequest, generator: ImageGenerator) => Promise<VendorResponse>>
>;

/** litellm 1.109.1, mai_transformation.py, and Microsoft's page on MAI-Image-2.5. */
const mai = (model: string): Paths => {
  const respond = async (parsed: ParsedRequest, generator: ImageGenerator) => ({
    body: {
      ...images(await generator.generate(parsed, "png")),
      usage: { num_input_text_tokens: 9, num_input_image_tokens: 0, num_output_tokens: 1024 },
    },
  });
  return {
    "/mai/v1/images/generations?api-version=preview": async (request, generator) => {
      const fields = jsonOf(request, ["model", "prompt", "width", "height"]);
      const { width, height, prompt } = fields;
      if (fields.model !== model) throw no(404, "DeploymentNotFound", "no such deployment");
      for (const edge of [width, height])
        if (edge === undefined || !isWhole(edge, 768, 1376)) throw invalid("at least 768");
      if (Number(width) * Number(height) > 1_056_768) throw invalid("too many pixels");
      return respond({ prompt: String(prompt), n: 1, ...sizeIn(fields) }, generator);
    },
    "/mai/v1/images/edits?api-version=preview": async (request, generator) => {
      const { texts, files, names } = await readForm(request);
      rejectUnknownFields(Object.fromEntries(names.map((name) => [name, 1])), [
        "model",
        "prompt",
        "image",
      ]);
      const sources = files("image");
      if (texts.model !== model) throw no(404, "DeploymentNotFound", "no such deployment");
      if (sources.length !== 1) throw invalid("exactly one image");
      return respond({ prompt: texts.prompt ?? "", n: 1, images: sources }, generator);
    },
  };
};

const flux2Images = Array.from({ length: 8 }, (_, at) =>
  at === 0 ? "input_image" : `input_image_${at + 1}`,
);

/** litellm 1.109.1, flux_transformation.py and flux2_transformation.py. */
const flux2 = (model: string): Paths => ({
  "/providers/blackforestlabs/v1/flux-2-pro?api-version=preview": async (request, generator) => {
    const known = words("model prompt width height output_format seed safety_tolerance");
    const fields = jsonOf(request, [...known, ...flux2Images]);
    const { width, height, prompt, output_format } = fields;
    if (fields.model !== model) throw no(404, "DeploymentNotFound", "no such deployment");
    for (const edge of [width, height])
      if (!isWhole(edge, 64, 4096) || Number(edge ?? 0) % 16 !== 0) throw invalid("a bad edge");
    const sources = flux2Images
      .filter((name) => fields[name] !== undefined)
      .map((name) => plainImage(fields[name], () => invalid(`${name} is no base64`)));
    const parsed: ParsedRequest = {
      prompt: String(prompt),
      n: 1,
      ...sizeIn(fields),
      options: present({ output_format }),
      ...(sources.length > 0 && { images: sources }),
    };
    const format = output_format === "jpeg" ? "jpeg" : "png";
    return { body: images(await generator.generate(parsed, format)) };
  },
});

/** Microsoft's examples of FLUX-1.1-pro and FLUX.1-Kontext-pro. */
const flux1 = (model: string): Paths => {
  const root = `/openai/deployments/${model}/images`;
  const version = "api-version=2025-04-01-preview";
  const known = words("model prompt n size output_format");
  const respond = async (
    fields: Readonly<Record<string, unknown>>,
    generator: ImageGenerator,
    sources?: readonly Uint8Array[],
  ) => {
    const { prompt, n = 1, size, output_format } = fields;
    const parsed: ParsedRequest = {
      prompt: String(prompt),
      n: Number(n),
      ...(typeof size === "string" && size !== "auto" && { size }),
      options: present({ output_format }),
      ...(sources && { images: sources }),
    };
    const format = output_format === "jpeg" ? "jpeg" : "png";
    return { body: images(await generator.generate(parsed, format)) };
  };
  return {
    [`${root}/generations?${version}`]: (request, generator) =>
      respond(jsonOf(request, known), generator),
    [`${root}/edits?${version}`]: async (request, generator) => {
      const { texts, files, names } = await readForm(request);
      rejectUnknownFields(Object.fromEntries(names.map((name) => [name, 1])), [...known, "image"]);
      return respond(texts, generator, files("image"));
    },
  };
};

const open =
  (paths: Paths): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    if (request.headers.get("api-key") !== key) throw no(401, "401", "Access denied");
    const respond = request.method === "POST" ? paths[request.path] : undefined;
    if (!respond) throw no(404, "404", "Resource not found");
    return respond(request, generator);
  };

const vendor = (name: string, model: string, paths: (model: string) => Paths): FakeVendor => ({
  name,
  kind: "azure-ai",
  model,
  config: { apiKey: key },
  operations: ["generations", "edits"],
  source: "litellm 1.109.1, llms/azure_ai/image_generation and image_edit",
  open: open(paths(model)),
  refusals,
});

export const azureAi: readonly FakeVendor[] = [
  vendor("azure-ai-mai", "MAI-Image-2.6", mai),
  vendor("azure-ai-flux-2", "FLUX.2-pro", flux2),
  vendor("azure-ai-flux-1", "FLUX.1-Kontext-pro", flux1),
];
