/** The image endpoints of OpenAI and Azure, and of OpenAI-compatible vendors. */
import type { Adapter, ImageAdapter, ModerationAdapter } from "../../adapter.ts";
import { laterGpt, openaiImageModels } from "../../catalog/images/openai.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOperation,
  Target,
  Upstream,
} from "../../contract.ts";
import { type ImageCapabilities, unrestrictedImages } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { type EndpointResolver, jsonRequest } from "../wire/build-request.ts";
import { listOf, memberOf } from "../wire/members.ts";
import { openaiEdits, openaiGenerations } from "./images.ts";
import { responsesRequest, throughResponses } from "./responses.ts";

type ImageEndpoints = Pick<Adapter, "generations" | "edits" | "imageCapabilities" | "moderations">;

/** OpenAI and Azure: two APIs, and models whose capabilities are known by name. */
export const openaiImages = (resolveEndpoint: EndpointResolver): ImageEndpoints => ({
  generations: bySurface(
    openaiGenerations(resolveEndpoint),
    responsesRequest<GenerationQuery>(resolveEndpoint),
  ),
  edits: bySurface(
    openaiEdits(resolveEndpoint, ["moderation"]),
    responsesRequest<EditQuery>(resolveEndpoint),
  ),
  imageCapabilities: ({ model, surface, upstream }, operation) => {
    const known = openaiImageCapabilities(model, operation);
    const capabilities = isAtVendor(upstream) ? known : withoutLinks(known);
    return surface === "responses" ? throughResponses(capabilities) : capabilities;
  },
  moderations: openaiModerations(resolveEndpoint),
});

const modelsByName = new Map(
  openaiImageModels.flatMap((row) =>
    [row.name, ...(row.also ?? [])].map((name) => [name, row] as const),
  ),
);

/**
 * The capabilities of an OpenAI model, by OpenAI's name for it. For a model that is not in the catalog, the upstream
 * decides.
 */
export function openaiImageCapabilities(
  model: string,
  operation?: ImageOperation,
): ImageCapabilities {
  const known = modelsByName.get(model.toLowerCase());
  if (!known) return /^(chat)?gpt-?image/i.test(model) ? laterGpt : unrestrictedImages;
  if (operation !== "generations") return { ...known.capabilities, verbatim: true };
  // Input fidelity is meaningless without an input image.
  const { input_fidelity: _, ...takes } = known.capabilities.takes;
  const { input_fidelity: __, ...undocumentedOptions } =
    known.capabilities.undocumentedOptions ?? {};
  return { ...known.capabilities, takes, undocumentedOptions, verbatim: true };
}

/** Selects the Images API or the Responses API by the target's `surface`. */
const bySurface = <Q extends GenerationQuery>(
  images: ImageAdapter<Q>,
  responses: ImageAdapter<Q>,
): ImageAdapter<Q> => {
  const adapterOf = ({ surface }: Target) => (surface === "responses" ? responses : images);
  return {
    toUpstream: (query, target) => adapterOf(target).toUpstream(query, target),
    fromUpstream: (response, context) => adapterOf(context.target).fromUpstream(response, context),
  };
};

/**
 * OpenAI has regional hosts, such as eu.api.openai.com (openai/openai-node, src/internal/data-residency.ts). Azure's
 * hosts are below these domains, and those of its sovereign clouds below azure.us and azure.cn; not all of azure.com is
 * Azure's own service, because customers have machines there.
 */
const vendorHosts =
  /(?:^|\.)(?:openai\.com|(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn))$/i;

/** Any other server may be in the operator's own network, and would follow a client's link into it (SSRF). */
function isAtVendor({ baseUrl }: Upstream): boolean {
  return baseUrl === undefined || vendorHosts.test(URL.parse(baseUrl)?.hostname ?? "");
}

function withoutLinks(capabilities: ImageCapabilities): ImageCapabilities {
  if (!capabilities.edits) return capabilities;
  const { links: _, ...edits } = capabilities.edits;
  return { ...capabilities, edits };
}

/** An unknown server takes forms, and decides what it supports. Only OpenAI takes references instead of files. */
export const unknownServer: ImageCapabilities = {
  ...unrestrictedImages,
  edits: { maxImages: 16, mask: "transparent", markup: true, files: true },
};

export const openaiCompatibleImages = (resolveEndpoint: EndpointResolver): ImageEndpoints => ({
  generations: openaiGenerations(resolveEndpoint),
  edits: openaiEdits(resolveEndpoint),
  imageCapabilities: () => unknownServer,
  moderations: openaiModerations(resolveEndpoint),
});

/** OpenAI's moderation of a prompt. It runs before the image request, which is billed. */
const openaiModerations = (resolveEndpoint: EndpointResolver): ModerationAdapter => ({
  toUpstream: (prompt, target) => {
    const { url, headers } = resolveEndpoint(target, "moderations");
    return jsonRequest(url, headers, { model: target.model, input: prompt });
  },
  fromUpstream: async (response) => {
    const body = await response.json();
    const [result] = listOf(memberOf(body, "results"));
    const flagged = memberOf(result, "flagged");
    if (typeof flagged !== "boolean")
      throw invalidResponse("it does not say whether the prompt is flagged");
    const categories = Object.entries(memberOf(result, "categories") ?? {});
    // OpenAI reports no usage; Mistral and others with the same API do.
    const inputTokens = memberOf(memberOf(body, "usage"), "prompt_tokens");
    return {
      flagged,
      categories: categories.filter(([, isFlagged]) => isFlagged === true).map(([name]) => name),
      ...(typeof inputTokens === "number" && inputTokens > 0 && { usage: { inputTokens } }),
    };
  },
});
