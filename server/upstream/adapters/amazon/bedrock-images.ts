/** Images on Amazon Bedrock: the model's vendor decides the request body. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { ImageAdapter, ReadImages, UpstreamRequest } from "../../adapter.ts";
import type { EditQuery, ExtraFields, ImageOperation, Target } from "../../contract.ts";
import { type ImageCapabilities, unrestrictedImages } from "../../image-capabilities.ts";
import { imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { novaCanvas, titanImage } from "./bedrock-canvas.ts";
import type { ImageFamily } from "./bedrock-image-family.ts";
import { stability } from "./bedrock-stability.ts";

const families: Readonly<Record<string, ImageFamily>> = {
  nova: novaCanvas,
  titan: titanImage,
  stability,
};

export const imageFamilyNames = ["stability"] as const;

/** By the model's id, which may have a region prefix: `us.stability.stable-image-inpaint-v1:0`. */
function nameOf(model: string): string | undefined {
  if (/\bstability\./.test(model)) return "stability";
  if (model.includes("nova-canvas")) return "nova";
  return model.includes("titan-image") ? "titan" : undefined;
}

const familyOf = ({ upstream, model }: Target): ImageFamily | undefined =>
  families[String(upstream.options.family ?? nameOf(model))];

function imageFamilyOf(target: Target, model: string): ImageFamily {
  const family = familyOf(target);
  if (family) return family;
  throw new GatewayError(
    "unsupported_operation",
    `The model '${model}' cannot generate images: its model family is not known. Ask the operator of this gateway to set \`family\` on its upstream.`,
    { param: "model" },
  );
}

/** Nothing is known about an unknown model, and no request is sent to it. */
export const bedrockImageCapabilities = (
  target: Target,
  operation: ImageOperation,
): ImageCapabilities =>
  familyOf(target)?.capabilities(target.model, operation) ?? unrestrictedImages;

/** `invoke`: builds the authenticated request for a model. */
export function bedrockImages(
  invoke: (target: Target) => Pick<UpstreamRequest, "url" | "headers">,
): {
  readonly generations: ImageAdapter;
  readonly edits: ImageAdapter<EditQuery>;
} {
  const buildRequest = (target: Target, body: ExtraFields): UpstreamRequest => {
    const { url, headers } = invoke(target);
    return imageJsonRequest(url, headers, body);
  };
  return {
    generations: {
      toUpstream: (query, target) =>
        buildRequest(target, imageFamilyOf(target, query.model).generation(query, target.model)),
      fromUpstream: read,
    },
    edits: {
      toUpstream: (query, target) =>
        buildRequest(target, imageFamilyOf(target, query.model).edit(query, target.model)),
      fromUpstream: read,
    },
  };
}

const read: ReadImages = async (response, context) => {
  const family = imageFamilyOf(context.target, context.query.model);
  return family.read(await readDocument(response, context.temp), context);
};
