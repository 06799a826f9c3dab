/**
 * Luma's Dream Machine API (the Photon models). An image request is an operation that is polled by its id. Input images
 * are accepted only as public links.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import { isHttpUrl } from "../../../lib/url-scheme.ts";
import type { ImageAdapter, Vendor } from "../../adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageSource,
  Target,
  Upstream,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { bearerRequest } from "../wire/build-request.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader } from "../wire/native-errors.ts";
import { type LumaApi, lumaRequest, readGeneration } from "./generation.ts";

const baseUrl = "https://api.lumalabs.ai/dream-machine/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// github.com/lumalabs/lumaai-node, src/resources/generations/image.ts; docs.lumalabs.ai/docs/errors for the prompt.
const imageCapabilities = (): ImageCapabilities => ({
  maxImages: 1,
  takes: { output_format: ["jpeg", "png"] },
  sizes: { ratios: ["1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21"] },
  maxPrompt: 5000,
  // docs.lumalabs.ai/docs/image-generation: "use your own cdn image urls, currently this is the only way to pass an
  // image".
  edits: { maxImages: 4, links: true, linksOnly: true },
});

const body = (query: GenerationQuery, { model }: Target): ExtraFields => {
  const { output_format } = query.options;
  return {
    ...query.extraFields,
    model,
    prompt: query.prompt,
    aspect_ratio: query.aspectRatio ?? query.extraFields.aspect_ratio,
    ...(output_format && { format: output_format === "jpeg" ? "jpg" : output_format }),
  };
};

/** One image is modified; several are references for a new one. */
function editSources({ images, model }: EditQuery): ExtraFields {
  const urls = images.map((source) => ({ url: linkOf(source, model) }));
  return urls.length === 1 ? { modify_image_ref: urls[0] } : { image_ref: urls };
}

function linkOf(source: ImageSource, model: string): string {
  if (source.kind === "url" && isHttpUrl(source.url)) return source.url;
  throw new GatewayError(
    "invalid_value",
    `Invalid 'image': the model '${model}' takes images only as links. Send JSON with images[].image_url that begins with https://.`,
    { param: "image" },
  );
}

function done(generation: unknown): BufferedImageResponse {
  const image = imageContentIn(memberOf(memberOf(generation, "assets"), "image"));
  if (!image) throw invalidResponse("its state is completed, but it has no `assets.image`");
  return { kind: "buffered", results: [{ image }], metadata: {} };
}

/** docs.lumalabs.ai/docs/errors; actual messages begin with the status: "400: prompt not allowed because …". */
function meaningOf(_: unknown, message: string): ErrorMeaning | undefined {
  if (/moderation|blacklisted words|not allowed/i.test(message)) return "moderated";
  return /^4\d\d: |failed to read user input/i.test(message) ? "rejected" : undefined;
}

const api: LumaApi = { baseUrlOf, createPath: "generations/image", done, meaningOf, cancels: true };
const fromUpstream = readGeneration(api);

const generations: ImageAdapter = {
  toUpstream: (query, target) => lumaRequest(target, api, body(query, target)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    lumaRequest(target, api, { ...body(query, target), ...editSources(query) }),
  fromUpstream,
};

export const luma: Vendor = {
  kind: { name: "luma", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    probe: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/credits`, upstream),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status === 400 && /moderation|blacklisted/i.test(message)) return "moderated";
        if (/insufficient credits|not enough credits/i.test(message)) return "no credit";
        if (status === 403 && /authenticat|api key/i.test(message)) return "wrong key";
        // Model names are part of the schema: FastAPI reports an unknown model as a validation error.
        return (
          (status === 400 || status === 422) && /(^|; )model: /.test(message) && "no such model"
        );
      },
    }),
  },
};
