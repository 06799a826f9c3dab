/** txt2img and img2img of AUTOMATIC1111's web UI. The checkpoint is a server setting, overridden in each request. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { ImageAdapter, ReadImages, UpstreamRequest } from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageResult,
  Target,
  Upstream,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import {
  asBase64,
  FileContent,
  headersOf,
  imageJsonRequest,
  jsonRequest,
  onlyFile,
} from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { edgesOf } from "../wire/edges.ts";
import { bareBase64, imageContentIn } from "../wire/image-list.ts";
import { codeIn, isCount, listIn, listOf, memberOf, objectOf, textIn } from "../wire/members.ts";
import { isCheckpoint } from "./checkpoint.ts";

export const automatic1111BaseUrl = "http://127.0.0.1:7860";

/** The URL, and the user name and password of --api-auth if they are set. */
export const automatic1111Endpoint = (upstream: Upstream, path: string): UpstreamRequest => ({
  url: `${(upstream.baseUrl ?? automatic1111BaseUrl).replace(/\/sdapi\/v1$/, "")}/${path}`,
  headers: headersOf(upstream, (key) => ({
    authorization: `Basic ${Buffer.from(key).toString("base64")}`,
  })),
});

const buildRequest = (upstream: Upstream, path: string, fields: ExtraFields): UpstreamRequest => {
  const { url, headers } = automatic1111Endpoint(upstream, path);
  return imageJsonRequest(url, headers, fields);
};

const fieldsOf = (query: GenerationQuery, { model }: Target): ExtraFields => {
  const { extraFields, options, prompt } = query;
  const task = taskOf(query);
  return {
    ...extraFields,
    prompt,
    ...edgesOf(query),
    // Sequential: with `batch_size`, all images would be in GPU memory at the same time.
    n_iter: options.n ?? 1,
    batch_size: 1,
    override_settings: {
      ...objectOf(extraFields.override_settings),
      sd_model_checkpoint: model,
    },
    ...(task !== undefined && { force_task_id: task }),
  };
};

/** A request with partial images has a task id, which distinguishes it from requests of others. */
const tasks = new WeakMap<GenerationQuery, string>();

function taskOf(query: GenerationQuery): string | undefined {
  if (!query.stream || (query.options.partial_images ?? 0) === 0) return undefined;
  const task = tasks.get(query) ?? `task(vexel-${crypto.randomUUID()})`;
  tasks.set(query, task);
  return task;
}

/**
 * modules/progress.py. /sdapi/v1/progress shows the current image, which may be another client's; this endpoint shows
 * only the image of the given task. A server started with --nowebui lacks this endpoint, and gives no partial images.
 */
const watch: ImageAdapter["watch"] = {
  toUpstream: (query, { upstream }) => {
    const { url, headers } = automatic1111Endpoint(upstream, "internal/progress");
    const progressFields = { id_task: taskOf(query), id_live_preview: -1, live_preview: true };
    return jsonRequest(url, headers, progressFields);
  },
  fromUpstream: async (response) => {
    const partialImage = textIn(await response.json(), "live_preview");
    return partialImage === undefined ? undefined : bareBase64(partialImage);
  },
};

/**
 * modules/processing.py, StableDiffusionProcessingImg2Img.init. Inpainting at full resolution puts the masked area back
 * into the image, which keeps its size whatever size was requested. Without a mask and a size the image becomes
 * 512x512: it is cropped to that aspect ratio rather than distorted.
 */
function resizeFields(query: EditQuery): ExtraFields {
  const sized = edgesOf(query) !== undefined;
  if (query.mask) return { inpaint_full_res: !sized };
  return sized ? {} : { resize_mode: 1 };
}

const readResponse: ReadImages = async (
  response,
  { query: { options }, target: { model }, temp },
) => {
  const body = await readDocument(response, temp);
  const info = parseInfo(memberOf(body, "info"));
  if (!isCheckpoint(model, info)) {
    throw new GatewayError(
      "model_not_found",
      "The Stable Diffusion server behind this model does not have it. Ask the operator of this gateway to check the model's target.",
      {
        logDetail: `the server used ${codeIn(info, "sd_model_name")} instead of ${model}`,
      },
    );
  }
  // A grid of all images may precede the images; masks and maps of extensions may follow them.
  const before = memberOf(info, "index_of_first_image");
  const first = isCount(before) ? before : 0;
  const images = listIn(body, "images").slice(first, first + (options.n ?? 1));
  const seeds = listOf(memberOf(info, "all_seeds"));
  return {
    kind: "buffered",
    results: images.map((value, at) => resultOf(value, seeds[at])),
    metadata: {},
  };
};

export const automatic1111Generations: ImageAdapter = {
  toUpstream: (query, target) =>
    buildRequest(target.upstream, "sdapi/v1/txt2img", fieldsOf(query, target)),
  fromUpstream: readResponse,
  watch,
};

export const automatic1111Edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { images, mask } = query;
    return buildRequest(target.upstream, "sdapi/v1/img2img", {
      ...resizeFields(query),
      ...fieldsOf(query, target),
      init_images: [new FileContent(onlyFile(images))],
      ...(mask && { mask: asBase64(mask) }),
    });
  },
  fromUpstream: readResponse,
  watch,
};

function resultOf(value: unknown, seed: unknown): ImageResult {
  const image = imageContentIn(value);
  if (!image) throw invalidResponse("an entry of `images` is not an image");
  return { image, ...(Number.isSafeInteger(seed) && { extraFields: { seed } }) };
}

/** JSON within JSON. The images are valid without it. */
function parseInfo(info: unknown): unknown {
  try {
    return typeof info === "string" ? JSON.parse(info) : undefined;
  } catch {
    return undefined;
  }
}
