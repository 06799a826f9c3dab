/** MiniMax: image-01 with its native API, later models with OpenAI's. */
import type { ImageAdapter, ReadImages, Vendor } from "../adapter.ts";
import type { Target } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { openaiEdits, openaiGenerations, unstreamed } from "./openai/images.ts";
import { bearer, imageJsonRequest, openaiEndpoints } from "./wire/build-request.ts";
import { readDocument } from "./wire/document.ts";
import { edgesOf } from "./wire/edges.ts";
import { imageContentIn } from "./wire/image-list.ts";
import { codeIn, memberOf, textIn } from "./wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, toMappedError } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

/** In China: https://api.minimaxi.com/v1, with keys of its own. */
const baseUrl = "https://api.minimax.io/v1";

const isImage01 = (model: string): boolean => /^image-01\b/.test(model);

/** platform.minimax.io/docs/api-reference/image-generation-t2i. */
const image01Capabilities: ImageCapabilities = {
  maxImages: 9,
  maxPrompt: 1500,
  takes: { response_format: ["url", "b64_json"] },
  sizes: { rule: { multipleOf: 8, minEdge: 512, maxEdge: 2048 } },
};

/** The same page, image-01-live: it takes only aspect ratios, and four styles. */
const image01LiveCapabilities: ImageCapabilities = {
  ...image01Capabilities,
  takes: { ...image01Capabilities.takes, style: ["漫画", "元气", "中世纪", "水彩"] },
  sizes: { ratios: ["1:1", "16:9", "4:3", "3:2", "2:3", "3:4", "9:16"] },
};

/** MiniMax-H3-Image: image-generation-h3-generations and -edits, next to that page; its sizes from fal.ai. */
const laterCapabilities: ImageCapabilities = {
  maxImages: 10,
  takes: { response_format: ["url", "b64_json"] },
  sizes: {
    rule: {
      multipleOf: 1,
      minEdge: 256,
      maxEdge: 8192,
      minPixels: 655_360,
      maxPixels: 20_000_000,
      maxRatio: 3,
    },
  },
  edits: { maxImages: 16 },
};

function imageCapabilities({ model }: Target): ImageCapabilities {
  if (!isImage01(model)) return laterCapabilities;
  return model === "image-01" ? image01Capabilities : image01LiveCapabilities;
}

const resolveEndpoint = openaiEndpoints(baseUrl);
/** Its streams are not in OpenAI's format, and have links instead of images. */
const openai = {
  generations: unstreamed(openaiGenerations(resolveEndpoint)),
  edits: unstreamed(openaiEdits(resolveEndpoint)),
};

/** platform.minimax.io/docs/api-reference/errorcode. Any other code is an error of MiniMax itself. */
const meanings: Readonly<Record<number, ErrorMeaning>> = {
  1002: "too fast",
  1004: "wrong key",
  1008: "no credit",
  1026: "moderated",
  1027: "moderated",
  1039: "too fast",
  1042: "rejected",
  2013: "rejected",
  2045: "too fast",
  2049: "wrong key",
  2056: "no credit",
};

const statusCodeIn = (response: unknown): number =>
  Number(codeIn(memberOf(response, "base_resp"), "status_code"));

/** Every response has the status 200; `base_resp` has the actual result. */
const read: ReadImages = async (response, context) => {
  const body = await readDocument(response, context.temp);
  const code = statusCodeIn(body);
  if (code !== 0) {
    const message = textIn(memberOf(body, "base_resp"), "status_msg");
    const meaning = modelUnknown(message ?? "") ? "no such model" : meanings[code];
    throw toMappedError(meaning, message, context, response.headers);
  }
  const data = memberOf(body, "data");
  const results = ["image_base64", "image_urls"]
    .flatMap((name) => memberOf(data, name) ?? [])
    .flatMap((value) => {
      const image = imageContentIn(value);
      return image ? [{ image }] : [];
    });
  if (results.length > 0) return { kind: "buffered", results, metadata: {} };
  // lobehub/chat, providers/minimax/createImage.ts: a count, as a text. Its meaning is not documented; most likely
  // images that the safety filter withheld, because all other failures have codes.
  const failed = Number(codeIn(memberOf(body, "metadata"), "failed_count"));
  if (failed > 0) throw toMappedError("moderated", undefined, context);
  throw invalidResponse("it has no image");
};

const generations: ImageAdapter = {
  toUpstream: (query, target) => {
    if (!isImage01(target.model)) return openai.generations.toUpstream(query, target);
    const { extraFields, options, prompt } = query;
    const { upstream, model } = target;
    return imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/image_generation`, bearer(upstream), {
      ...extraFields,
      model,
      prompt,
      ...(query.aspectRatio !== undefined && { aspect_ratio: query.aspectRatio }),
      ...edgesOf(query),
      n: options.n,
      style: options.style === undefined ? undefined : { style_type: options.style },
      response_format: options.response_format === "url" ? "url" : "base64",
    });
  },
  fromUpstream: (response, context) =>
    isImage01(context.target.model)
      ? read(response, context)
      : openai.generations.fromUpstream(response, context),
};

const modelUnknown = (message: string): boolean =>
  /\b(unknown|unsupported|invalid) model\b|\bmodel\b.*\bnot (exist|found|support)/i.test(message);

const readError = nativeErrorReader({
  classify: ({ status, message, body }) => {
    const code = statusCodeIn(body);
    if (code !== 0) return meanings[code];
    if (modelUnknown(message)) return "no such model";
    return (status === 400 || status === 422) && /\bsensitive\b/i.test(message) && "moderated";
  },
  fallback: readOpenaiError,
});

export const minimax: Vendor = {
  kind: { name: "minimax", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits: openai.edits,
    imageCapabilities,
    readError,
  },
};
