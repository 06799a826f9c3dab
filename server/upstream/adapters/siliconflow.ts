/** SiliconFlow: OpenAI-compatible embeddings; images at OpenAI's path with its own fields, returned as links only. */
import type { ImageAdapter, ReadImages, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { asDataUrl, bearer, imageJsonRequest } from "./wire/build-request.ts";
import { readImageList } from "./wire/image-list.ts";
import { extraFieldsOf, memberOf } from "./wire/members.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const baseUrl = "https://api.siliconflow.com/v1";

/** docs.siliconflow.com/en/api-reference/embeddings/create-embeddings: up to each model's own length. */
const lengths = (max: number): { readonly dimensions: readonly number[] } => ({
  dimensions: [64, 128, 256, 512, 768, 1024, 2048, 4096].filter((length) => length <= max),
});

interface Family {
  /** The default size, because most models require one. If absent, it takes none. */
  readonly size?: string;
  /** It has a field for the number of images. */
  readonly batch?: true;
  readonly maxImages: number;
  /** Maximum input images. */
  readonly reads: number;
  readonly editsOnly?: true;
}

/** docs.siliconflow.cn/docs/api/images-generations-post. Sizes are recommended there, and not required. */
function familyOf(model: string): Family {
  if (/Qwen-Image-Edit-\d/i.test(model)) return { maxImages: 1, reads: 3, editsOnly: true };
  if (/Qwen-Image-Edit/i.test(model)) return { maxImages: 1, reads: 1, editsOnly: true };
  if (/Qwen-Image/i.test(model)) return { size: "1328x1328", maxImages: 1, reads: 1 };
  if (/Kolors/i.test(model)) return { size: "1024x1024", batch: true, maxImages: 4, reads: 1 };
  return { size: "1024x1024", maxImages: 1, reads: 1 };
}

function imageCapabilities({ model }: Target): ImageCapabilities {
  const { size, maxImages, reads, editsOnly } = familyOf(model);
  return {
    maxImages,
    takes: {},
    sizes: size === undefined ? { list: [] } : "any",
    ...(editsOnly && { editsOnly }),
    edits: { maxImages: reads, links: true },
  };
}

function buildRequest(
  { extraFields, options, prompt }: GenerationQuery,
  { upstream, model }: Target,
  images: ExtraFields,
): UpstreamRequest {
  const { size, batch } = familyOf(model);
  const requestedSize = options.size === "auto" ? undefined : options.size;
  return imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/images/generations`, bearer(upstream), {
    ...(size !== undefined && { image_size: size }),
    ...extraFields,
    model,
    prompt,
    ...(requestedSize !== undefined && { image_size: requestedSize }),
    ...(batch && options.n !== undefined && { batch_size: options.n }),
    ...images,
  });
}

/** `{images: [{url}], timings: {inference}, seed}`, and the same list once more as `data`. */
const read: ReadImages = (response, context) =>
  readImageList(response, context, {
    list: "images",
    responseFields: (body) => extraFieldsOf(body, ["timings", "seed"]),
  });

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target, {}),
  fromUpstream: read,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(
      query,
      target,
      Object.fromEntries(
        query.images.map((source, at) => [
          at === 0 ? "image" : `image${at + 1}`,
          asDataUrl(source),
        ]),
      ),
    ),
  fromUpstream: read,
};

const readError = nativeErrorReader({
  // Codes as recorded by users: 20012 with 400, 30001 and 30011 with 403. No page lists them.
  classify: ({ status, message, body }) => {
    const code = memberOf(body, "code");
    if (code === 20012) return "no such model";
    if (code === 30001 || code === 30011) return "no credit";
    const refused =
      status === 451 || (status === 400 && /\b(sensitive|nsfw|inappropriate)\b/i.test(message));
    return refused && "moderated";
  },
  fallback: readOpenaiError,
});

export const siliconflow: Vendor = fromDialect(
  {
    name: "siliconflow",
    baseUrl,
    // The page named above; an array of at most 32.
    embeddings: { ...textOnlyCapabilities, maxItems: 32, tokens: true },
    models: [
      [/Qwen3-Embedding-8B/i, lengths(4096)],
      [/Qwen3-Embedding-4B/i, lengths(2048)],
      [/Qwen3-Embedding-0\.6B/i, lengths(1024)],
    ],
  },
  { generations, edits, imageCapabilities, readError },
);
