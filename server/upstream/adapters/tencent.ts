/** Tencent's TokenHub: Seedream at one endpoint for generations and edits, one image per request. */
import type { ImageAdapter, ReadImages, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target, Upstream } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { asDataUrl, bearer, imageJsonRequest } from "./wire/build-request.ts";
import { createdIn, readImageList } from "./wire/image-list.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

// litellm 1.109.1, llms/tencent/image_generation/transformation.py.
const baseUrl = "https://tokenhub-intl.tencentcloudmaas.com/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

/** The same file: one image per request. The number of input images is that of Seedream's vendor. */
const imageCapabilities = ({ model }: Target): ImageCapabilities => ({
  maxImages: 1,
  takes: {
    response_format: ["url", "b64_json"],
    output_format: ["png", "jpeg"],
    background: ["transparent", "opaque"],
    user: "any",
  },
  sizes: "any",
  edits: { maxImages: /-lite$/.test(model) ? 14 : 10 },
});

const buildRequest = (
  { extraFields, options, prompt }: GenerationQuery,
  { upstream, model }: Target,
  sources: ExtraFields = {},
): UpstreamRequest => {
  const { size, response_format, output_format, background, user } = options;
  const url = `${baseUrlOf(upstream)}/wand/si-image/generation`;
  return imageJsonRequest(url, bearer(upstream), {
    ...extraFields,
    model,
    prompt,
    size: size === "auto" ? undefined : size,
    response_format,
    output_format,
    background,
    user,
    ...sources,
  });
};

/** `tokenhub_usage` has a total of tokens only, which is no usage of OpenAI's. */
const fromUpstream: ReadImages = (response, context) =>
  readImageList(response, context, { responseFields: createdIn });

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(query, target, { images: query.images.map(asDataUrl) }),
  fromUpstream,
};

export const tencent: Vendor = {
  kind: { name: "tencent", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: { generations, edits, imageCapabilities, readError: readOpenaiError },
};
