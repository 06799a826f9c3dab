/** Luma's newer API, for the uni models: an operation by its id, and input images as base64. */
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
import { asBase64, bearerRequest, fileOf } from "../wire/build-request.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { codeIn, listIn, memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader } from "../wire/native-errors.ts";
import { type LumaApi, lumaRequest, readGeneration } from "./generation.ts";

const baseUrl = "https://agents.lumalabs.ai/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// docs.agents.lumalabs.ai/guides/image-generation, and types/generation_create_params.py of luma-agents-python.
const imageCapabilities = (): ImageCapabilities => ({
  maxImages: 1,
  takes: { output_format: ["png", "jpeg"], user: "any", safety_identifier: "any" },
  // luma-agents-python also lists 21:9, 4:3 and 3:4, for images and videos together: "the server validates the final
  // model-specific set". The guide, and fal's schema of the same model, have these nine for images.
  sizes: { ratios: ["3:1", "2:1", "16:9", "3:2", "1:1", "2:3", "9:16", "1:2", "1:3"] },
  maxPrompt: 6000,
  // One image to edit and eight reference images, each of up to 50 MB.
  edits: { maxImages: 9, maxBytes: 50 * 1024 * 1024 },
});

const body = (query: GenerationQuery, { model }: Target, type: string): ExtraFields => {
  const { output_format, safety_identifier, user } = query.options;
  return {
    ...query.extraFields,
    model,
    type,
    prompt: query.prompt,
    aspect_ratio: query.aspectRatio ?? query.extraFields.aspect_ratio,
    output_format,
    user_id: safety_identifier ?? user,
  };
};

const inline = (source: ImageSource): ExtraFields => ({
  data: asBase64(source),
  media_type: fileOf(source).type,
});

const done = (generation: unknown): BufferedImageResponse => ({
  kind: "buffered",
  results: listIn(generation, "output").map((entry) => {
    const image = imageContentIn(memberOf(entry, "url"));
    if (!image) throw invalidResponse("an entry of its output has no `url`");
    return { image };
  }),
  metadata: {},
});

/** docs.agents.lumalabs.ai/guides/error-handling, failure_code; other codes are plain failures. */
const meanings: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries<ErrorMeaning>({
    content_moderated: "moderated",
    budget_exhausted: "no credit",
    rate_limited: "too fast",
    image_too_large: "rejected",
    unsupported_format: "rejected",
    corrupt_input: "rejected",
    invalid_request: "rejected",
  }),
);

const api: LumaApi = {
  baseUrlOf,
  createPath: "generations",
  done,
  meaningOf: (generation) => meanings.get(codeIn(generation, "failure_code")),
};
const fromUpstream = readGeneration(api);

const generations: ImageAdapter = {
  toUpstream: (query, target) => lumaRequest(target, api, body(query, target, "image")),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const [source, ...others] = query.images.map(inline);
    return lumaRequest(target, api, {
      ...body(query, target, "image_edit"),
      source,
      ...(others.length > 0 && { image_ref: others }),
    });
  },
  fromUpstream,
};

export const lumaAgents: Vendor = {
  kind: { name: "luma-agents", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    // An unknown operation: with a valid API key the error is about the operation, otherwise about the key.
    probe: (upstream) =>
      bearerRequest(
        `${baseUrlOf(upstream)}/generations/00000000-0000-0000-0000-000000000000`,
        upstream,
      ),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status === 400 && /moderat|content guidelines/i.test(message)) return "moderated";
        // Model names are part of the schema: FastAPI reports an unknown model as a validation error.
        return (
          (status === 400 || status === 422) && /(^|; )model: /.test(message) && "no such model"
        );
      },
    }),
  },
};
