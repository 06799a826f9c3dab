/**
 * AUTOMATIC1111's Stable Diffusion web UI, started with --api, and its forks, such as Forge: txt2img and img2img. The
 * checkpoint is a server setting, overridden in each request.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ImageAdapter, ReadImages, UpstreamRequest, Vendor } from "../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageResult,
  Target,
  Upstream,
} from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import {
  asBase64,
  FileContent,
  headersOf,
  imageJsonRequest,
  jsonRequest,
  onlyFile,
} from "./wire/build-request.ts";
import { readDocument } from "./wire/document.ts";
import { edgesOf } from "./wire/edges.ts";
import { messageIn } from "./wire/error-body.ts";
import { bareBase64, imageContentIn } from "./wire/image-list.ts";
import { codeIn, isCount, listIn, listOf, memberOf, objectOf, textIn } from "./wire/members.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

const baseUrl = "http://127.0.0.1:7860";

/** The URL, and the user name and password of --api-auth if they are set. */
const endpointOf = (upstream: Upstream, path: string): UpstreamRequest => ({
  url: `${(upstream.baseUrl ?? baseUrl).replace(/\/sdapi\/v1$/, "")}/${path}`,
  headers: headersOf(upstream, (key) => ({
    authorization: `Basic ${Buffer.from(key).toString("base64")}`,
  })),
});

const buildRequest = (upstream: Upstream, path: string, fields: ExtraFields): UpstreamRequest => {
  const { url, headers } = endpointOf(upstream, path);
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
    const { url, headers } = endpointOf(upstream, "internal/progress");
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

const generations: ImageAdapter = {
  toUpstream: (query, target) =>
    buildRequest(target.upstream, "sdapi/v1/txt2img", fieldsOf(query, target)),
  fromUpstream: readResponse,
  watch,
};

const edits: ImageAdapter<EditQuery> = {
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

/**
 * Whether the web UI used the requested checkpoint: it ignores an unknown one without an error.
 * modules/sd_models.py, CheckpointInfo.ids: a checkpoint is named by its file with or without folder and extension,
 * with its hash appended, or by the hash alone. `info`: the response's metadata; without metadata the checkpoint is
 * assumed to match.
 */
function isCheckpoint(requested: string, info: unknown): boolean {
  const used = memberOf(info, "sd_model_name");
  if (typeof used !== "string" || used === "" || /^[0-9a-f]{8,64}$/i.test(requested)) return true;
  const file = requested
    .replace(/ \[[0-9a-f]+\]$/i, "")
    .replace(/\.(safetensors|ckpt|pth?|gguf)$/i, "");
  const name = file.split(/[\\/]/).at(-1) ?? file;
  // A folder may also precede the name with `_` instead of its slash.
  return name === used || name.endsWith(`_${used}`);
}

// modules/ui.py: edges from 64 to 2048 in steps of 8, the size of a latent pixel. create_binary_mask in
// modules/processing.py: white mask pixels are edited.
const imageCapabilities: ImageCapabilities = {
  maxImages: 10,
  takes: { partial_images: "any" },
  sizes: { rule: { multipleOf: 8, minEdge: 64, maxEdge: 2048 } },
  streams: true,
  edits: {
    maxImages: 1,
    mask: "white",
    // modules/api/models.py: img2img is 512x512 by default. No more pixels than the largest models support.
    matchFirstImage: { multipleOf: 8, minEdge: 64, maxEdge: 2048, maxPixels: 1024 * 1536 },
  },
};

const readError = nativeErrorReader({
  /** modules/api/api.py, handle_exception: `{error: "HTTPException", detail: "Sampler not found", …}`. */
  messageOf: (body) => messageIn({ detail: memberOf(body, "detail") }),
  // decode_base64_to_image fails with status 500.
  classify: ({ status, message }) =>
    status === 500 && message === "Invalid encoded image" && "rejected",
});

export const automatic1111: Vendor = {
  kind: {
    name: "automatic1111",
    baseUrl,
    needs: [],
    serves: "image",
    options: {},
  },
  adapter: {
    generations,
    edits,
    imageCapabilities: () => imageCapabilities,
    models: {
      request: (upstream) => endpointOf(upstream, "sdapi/v1/sd-models"),
      read: (body) =>
        Array.isArray(body) ? body.map((entry) => memberOf(entry, "model_name")) : undefined,
    },
    readError,
  },
};
