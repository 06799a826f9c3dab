/** Parses the requests of Alibaba's models, each at its own endpoint, and creates their responses. */

import { words } from "../../words.ts";
import { type ParsedRequest, rejectUnknownFields, type VendorResponse } from "../image-vendor.ts";
import { refusal } from "./dashscope-refusals.ts";
import { fromDataUrl } from "./data-url.ts";

export const key = "sk-fakefakefakefake0123456789abcdef";

export type EndpointName =
  | "messages"
  | "messages-operation"
  | "prompt-operation"
  | "masked-operation";

interface Interface {
  readonly path: readonly string[];
  readonly job: boolean;
  response(
    links: readonly string[],
    parsed: ParsedRequest,
  ): { readonly output: object; readonly usage: object };
}

const services = "/api/v1/services/aigc";

const inMessages = (links: readonly string[], more: object) =>
  links.map((image) => ({
    finish_reason: "stop",
    message: { role: "assistant", content: [{ image, ...more }] },
  }));

const inResults = (links: readonly string[], { prompt }: ParsedRequest) => ({
  output: {
    results: links.map((url) => ({
      orig_prompt: prompt,
      actual_prompt: `${prompt}, in the soft light of an early morning`,
      url,
    })),
    task_metrics: { TOTAL: links.length, SUCCEEDED: links.length, FAILED: 0 },
  },
  usage: { image_count: links.length },
});

const starred = ({ size }: ParsedRequest): string => (size ?? "2048x2048").replace("x", "*");

export const endpointSpecs: Readonly<Record<EndpointName, Interface>> = {
  messages: {
    path: [`${services}/multimodal-generation/generation`],
    job: false,
    response: (links, { size = "1024x1024" }) => ({
      output: {
        choices: inMessages(links, {}),
        task_metric: { TOTAL: links.length, FAILED: 0, SUCCEEDED: links.length },
      },
      usage: {
        width: Number(size.split("x")[0]),
        height: Number(size.split("x")[1]),
        image_count: links.length,
      },
    }),
  },
  "messages-operation": {
    path: [`${services}/image-generation/generation`],
    job: true,
    response: (links, parsed) => ({
      output: { finished: true, choices: inMessages(links, { type: "image" }) },
      usage: {
        size: starred(parsed),
        total_tokens: 18_792,
        image_count: links.length,
        output_tokens: 2,
        input_tokens: 18_790,
      },
    }),
  },
  "prompt-operation": {
    path: [`${services}/text2image/image-synthesis`, `${services}/image2image/image-synthesis`],
    job: true,
    response: inResults,
  },
  "masked-operation": {
    path: [`${services}/image2image/image-synthesis`],
    job: true,
    response: inResults,
  },
};

type Members = Readonly<Record<string, unknown>>;

const invalid = (message: string): VendorResponse => refusal(400, "InvalidParameter", message);

const parameterNames = words(`
  n size negative_prompt prompt_extend watermark seed enable_interleave max_images
  enable_sequential thinking_mode strength
`);

export function parseRequest(
  body: Members,
  model: string,
  endpoint: EndpointName,
  path: string,
): ParsedRequest {
  rejectUnknownFields(body, ["model", "input", "parameters"]);
  const { input = {}, parameters = {} } = body as Readonly<Record<string, Members>>;
  rejectUnknownFields(parameters, parameterNames);
  const n = Number(parameters.n ?? 4);
  if (!Number.isInteger(n) || n < 1 || n > limits(model)) throw invalid("n is out of range");
  const size = sizeIn(parameters.size, model);
  const read = endpoint.startsWith("messages")
    ? parseMessages(input, model)
    : beside(input, endpoint, path);
  return { n, ...(size && { size }), ...read };
}

function limits(model: string): number {
  if (model === "qwen-image-plus") return 1;
  return model.startsWith("qwen-image") ? 6 : 4;
}

const fixed = ["1664*928", "1472*1104", "1328*1328", "1104*1472", "928*1664"];

/** Each model limits the size differently: by its pixels, by its edges, or to a list. */
function sizeIn(size: unknown, model: string): string | undefined {
  if (size === undefined || (/^[12]K$/.test(String(size)) && model.startsWith("wan2.7"))) {
    return undefined;
  }
  const [, width, height] = /^(\d+)\*(\d+)$/.exec(String(size)) ?? [];
  if (width === undefined || height === undefined) {
    throw invalid("Expected format: '<width>*<height>'");
  }
  const pixels = Number(width) * Number(height);
  const within = (least: number, most: number) => pixels >= least ** 2 && pixels <= most ** 2;
  const edges = [Number(width), Number(height)];
  const fits =
    (model === "qwen-image-plus" && fixed.includes(String(size))) ||
    (model === "qwen-image-2.0-pro" && within(512, 2048)) ||
    (model === "wan2.7-image" && within(768, 2048)) ||
    (model === "wan2.5-i2i-preview" && within(768, 1280)) ||
    (model === "wan2.2-t2i-flash" && edges.every((edge) => edge >= 512 && edge <= 1440));
  if (!fits) throw invalid(`The size is not match the allowed size, but got ${size}`);
  return `${width}x${height}`;
}

/** One user message with one text. For Qwen the images come before it, for Wan after it. */
function parseMessages(input: Members, model: string): Pick<ParsedRequest, "prompt" | "images"> {
  rejectUnknownFields(input, ["messages"]);
  const [message, ...more] = (input.messages ?? []) as Members[];
  if (!message || more.length > 0) throw invalid("Field required: input.messages");
  rejectUnknownFields(message, ["role", "content"]);
  if (message.role !== "user") throw invalid("role must be user");
  const content = message.content as Members[];
  for (const part of content) rejectUnknownFields(part, ["text", "image"]);
  const at = content.findIndex(({ text }) => typeof text === "string");
  if (at !== (model.startsWith("wan") ? 0 : content.length - 1))
    throw invalid("no text in its place");
  const images = content.toSpliced(at, 1).map(({ image }) => generatedImage(image));
  if (images.length > (model.startsWith("wan") ? 9 : 3)) throw invalid("too many images");
  return { prompt: String(content[at]?.text), ...(images.length > 0 && { images }) };
}

const generatedImage = (value: unknown): Uint8Array =>
  fromDataUrl(value, refusal(400, "InvalidURL", "Invalid URL provided in your request."));

function beside(
  input: Members,
  endpoint: EndpointName,
  path: string,
): Pick<ParsedRequest, "prompt" | "images" | "mask"> {
  const prompt = String(input.prompt ?? "");
  if (prompt === "") throw invalid("prompt is required");
  if (endpoint === "masked-operation") {
    rejectUnknownFields(input, ["prompt", "function", "base_image_url", "mask_image_url"]);
    const { base_image_url, mask_image_url } = input;
    const masked = input.function === "description_edit_with_mask";
    if (!masked && input.function !== "description_edit") throw invalid("unknown function");
    if (masked !== (mask_image_url !== undefined))
      throw invalid("mask_image_url and function differ");
    return {
      prompt,
      images: [generatedImage(base_image_url)],
      ...(masked && { mask: generatedImage(mask_image_url) }),
    };
  }
  rejectUnknownFields(input, ["prompt", "negative_prompt", "images"]);
  const edits = path.includes("image2image");
  if (edits !== Array.isArray(input.images)) throw invalid("images is required, or not");
  if (!edits) return { prompt };
  const images = (input.images as unknown[]).map(generatedImage);
  if (images.length > 3) throw invalid("too many images");
  return { prompt, images };
}
