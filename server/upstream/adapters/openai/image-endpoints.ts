/** The image endpoints of OpenAI and Azure, and of OpenAI-compatible vendors. */
import type { Adapter } from "../../adapter.ts";
import { openaiImageCapabilities } from "../../catalog/images/index.ts";
import type { EditQuery, GenerationQuery, Upstream } from "../../contract.ts";
import { type ImageCapabilities, unrestrictedImages } from "../../image-capabilities.ts";
import type { EndpointResolver } from "./endpoints.ts";
import { openaiEdits, openaiGenerations } from "./images.ts";
import { openaiModerations } from "./moderations.ts";
import { bySurface, responsesRequest, throughResponses } from "./responses.ts";

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

/** An unknown server takes forms, and decides what it supports. References are OpenAI's own. */
const open: ImageCapabilities = {
  ...unrestrictedImages,
  edits: { maxImages: 16, mask: "transparent", files: true },
};

export const openaiCompatibleImages = (resolveEndpoint: EndpointResolver): ImageEndpoints => ({
  generations: openaiGenerations(resolveEndpoint),
  edits: openaiEdits(resolveEndpoint),
  imageCapabilities: () => open,
  moderations: openaiModerations(resolveEndpoint),
});
