/**
 * Images of Microsoft Foundry, by the name of the deployment: MAI-Image and FLUX.2 have APIs of their own, FLUX.1 and
 * all others OpenAI's.
 */
import type { Adapter, ImageAdapter, ReadImages, UpstreamRequest } from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  ImageUsage,
  Target,
  Upstream,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { unknownServer } from "../openai/image-endpoints.ts";
import { isUsage, openaiEdits, openaiGenerations } from "../openai/images.ts";
import {
  asBase64,
  type EndpointResolver,
  fieldParts,
  imageFormRequest,
  imageJsonRequest,
  onlyFile,
} from "../wire/build-request.ts";
import { edgesOf } from "../wire/edges.ts";
import { createdIn, readImageList } from "../wire/image-list.ts";
import { isCount, memberOf } from "../wire/members.ts";
import { azureHeaders } from "./endpoints.ts";

interface Family {
  readonly generations: ImageAdapter;
  readonly edits: ImageAdapter<EditQuery>;
  capabilities(target: Target, operation: ImageOperation): ImageCapabilities;
}

/** `https://my-resource.services.ai.azure.com`, with or without `/models`. */
export const foundryRoot = ({ baseUrl = "" }: Upstream): string => baseUrl.replace(/\/models$/, "");

const urlOf = (upstream: Upstream, path: string, apiVersion = "preview"): string =>
  `${foundryRoot(upstream)}/${path}?api-version=${apiVersion}`;

/** A list called `data`, with base64. MAI-Image counts tokens under names of its own. */
const read: ReadImages = (response, context) =>
  readImageList(response, context, {
    responseFields: (body) => ({ ...createdIn(body), ...usageIn(memberOf(body, "usage")) }),
  });

/** litellm 1.109.1, llms/azure_ai/image_generation/mai_transformation.py. */
function usageIn(usage: unknown): { readonly usage?: ImageUsage } {
  if (isUsage(usage)) return { usage };
  const [text, image = 0, output] = [
    "num_input_text_tokens",
    "num_input_image_tokens",
    "num_output_tokens",
  ].map((name) => memberOf(usage, name));
  if (!isCount(text) || !isCount(image) || !isCount(output)) return {};
  return {
    usage: {
      input_tokens: text + image,
      output_tokens: output,
      total_tokens: text + image + output,
      input_tokens_details: { text_tokens: text, image_tokens: image },
      output_tokens_details: { text_tokens: 0, image_tokens: output },
    },
  };
}

// The same file: one image of at least 768 by 768 and at most 1,056,768 pixels, and width and height in each request.
// Microsoft's page on MAI-Image-2.5: an edit takes one PNG or JPEG, and no size; the output is a PNG.
const maiSizes = { multipleOf: 1, minEdge: 768, maxEdge: 1376, maxPixels: 1_056_768 } as const;

const mai: Family = {
  generations: {
    toUpstream: (query, { upstream, model }) =>
      imageJsonRequest(urlOf(upstream, "mai/v1/images/generations"), azureHeaders(upstream), {
        ...query.extraFields,
        model,
        prompt: query.prompt,
        ...(edgesOf(query) ?? { width: 1024, height: 1024 }),
      }),
    fromUpstream: read,
  },
  edits: {
    toUpstream: (query, { upstream, model }) =>
      imageFormRequest(urlOf(upstream, "mai/v1/images/edits"), azureHeaders(upstream), [
        ...fieldParts({ ...query.extraFields, model, prompt: query.prompt }),
        { name: "image", file: onlyFile(query.images) },
      ]),
    fromUpstream: read,
  },
  capabilities: (_target, operation) => ({
    maxImages: 1,
    takes: {},
    sizes: operation === "generations" ? { rule: maiSizes } : { list: [] },
    edits: { maxImages: 1, reads: ["image/png", "image/jpeg"] },
  }),
};

const isFlex = (model: string): boolean => /flex/i.test(model);

/** One path for both operations, which litellm 1.109.1 (flux_transformation.py) derives from the name in this way. */
const flux2Request = (
  query: GenerationQuery,
  { upstream, model }: Target,
  sources: ExtraFields = {},
): UpstreamRequest => {
  const path = `providers/blackforestlabs/v1/${isFlex(model) ? "flux-2-flex" : "flux-2-pro"}`;
  return imageJsonRequest(urlOf(upstream, path), azureHeaders(upstream), {
    ...query.extraFields,
    model,
    prompt: query.prompt,
    ...edgesOf(query),
    output_format: query.options.output_format,
    ...sources,
  });
};

const flux2: Family = {
  generations: { toUpstream: (query, target) => flux2Request(query, target), fromUpstream: read },
  edits: {
    toUpstream: (query, target) => {
      const images = query.images.map((image, at): [string, unknown] => [
        at === 0 ? "input_image" : `input_image_${at + 1}`,
        asBase64(image),
      ]);
      return flux2Request(query, target, Object.fromEntries(images));
    },
    fromUpstream: read,
  },
  // The sizes are those of Black Forest Labs. One image: litellm sends the number as `num_images`, others as `n`.
  capabilities: ({ model }) => ({
    maxImages: 1,
    takes: { output_format: ["png", "jpeg"] },
    sizes: { rule: { multipleOf: 16, minEdge: 64, maxEdge: 4096, maxPixels: 2048 * 2048 } },
    edits: { maxImages: isFlex(model) ? 10 : 8 },
  }),
};

const deployments: EndpointResolver = ({ upstream, model }, path) => ({
  url: urlOf(
    upstream,
    `openai/deployments/${encodeURIComponent(model)}/${path}`,
    "2025-04-01-preview",
  ),
  headers: azureHeaders(upstream),
});

/** Microsoft's examples have `prompt`, `n: 1`, `size` and `output_format: png`. Only Kontext edits. */
const flux1Capabilities = (model: string): ImageCapabilities => ({
  maxImages: 1,
  takes: { output_format: ["png", "jpeg"] },
  sizes: "any",
  ...(/kontext/i.test(model) && { edits: { maxImages: 1 } }),
});

const openaiShaped: Family = {
  generations: openaiGenerations(deployments),
  edits: openaiEdits(deployments),
  capabilities: ({ model }) => (/flux/i.test(model) ? flux1Capabilities(model) : unknownServer),
};

function familyOf({ model }: Target): Family {
  const name = model.toLowerCase().replaceAll(/[-._]/g, "");
  if (name.includes("maiimage")) return mai;
  return name.includes("flux2") ? flux2 : openaiShaped;
}

const byFamily = <Q extends GenerationQuery>(
  adapterOf: (family: Family) => ImageAdapter<Q>,
): ImageAdapter<Q> => ({
  toUpstream: (query, target) => adapterOf(familyOf(target)).toUpstream(query, target),
  fromUpstream: (response, context) =>
    adapterOf(familyOf(context.target)).fromUpstream(response, context),
});

export const foundryImages: Pick<Adapter, "generations" | "edits" | "imageCapabilities"> = {
  generations: byFamily((family) => family.generations),
  edits: byFamily((family) => family.edits),
  imageCapabilities: (target, operation) => familyOf(target).capabilities(target, operation),
};
