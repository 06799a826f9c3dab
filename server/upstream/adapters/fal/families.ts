/** Capabilities of the models on fal: endpoints and fields follow common naming patterns. */
import type { ImageOperation } from "../../contract.ts";
import type { ImageCapabilities, Sizes } from "../../image-capabilities.ts";
import type { Resolution } from "../../image-sizes.ts";
import { falMaskOf, falSources } from "./sources.ts";

// All facts of this file: libs/client/src/types/endpoints.ts of github.com/fal-ai/fal-js, which is made from the
// schemas of all endpoints.

type Rule<T> = readonly (readonly [RegExp, T])[];

const first = <T>(rules: Rule<T>, model: string): T | undefined =>
  rules.find(([name]) => name.test(model))?.[1];

const aspectRatios = (...ratios: string[]): Sizes => ({ ratios });

const fluxShapes = aspectRatios("21:9", "16:9", "4:3", "3:2", "1:1", "2:3", "3:4", "9:16", "9:21");
const ideogramShapes = [
  "10:16",
  "16:10",
  "9:16",
  "16:9",
  "4:3",
  "3:4",
  "1:1",
  "1:3",
  "3:1",
  "3:2",
  "2:3",
];
const lumaShapes = aspectRatios("1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21");
const commonShapes = aspectRatios("1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3");
const none: Sizes = { list: [] };

const googleShapes = ["21:9", "16:9", "3:2", "4:3", "5:4", "1:1", "4:5", "3:4", "2:3", "9:16"];

const sizeRules: Rule<Sizes> = [
  // Upscaling, outpainting, cleanup and layer endpoints: the size of the output follows from the input.
  [
    /upscal|outpaint|eras|rembg|background-removal|remove-background|layer|preprocessors|imageutils/,
    none,
  ],
  [
    /\/(control-light|bernini-r|dreamomni2|flowedit|flux-pro\/v1\/vto|pasd|aura-flow|lcm-sd15-i2i)\b/,
    none,
  ],
  [/\/(fooocus|ip-adapter-face-id|lora\/inpaint|vecglypher|image-apps-v2|smart-resize)\b/, none],
  [/\/image-editing\/youtube-thumbnails/, none],
  [/\/gpt-image-1\b/, { list: ["1024x1024", "1536x1024", "1024x1536"] }],
  [/\/flux-pro\/(kontext|v1\.1-ultra)|\/emu-3\.5|\/image-editing\//, fluxShapes],
  [
    /nano-banana-(2|lite)|\/gemini-3\.1-.*image/,
    aspectRatios(...googleShapes, "4:1", "1:4", "8:1", "1:8"),
  ],
  [/nano-banana|\/gemini-.*image/, aspectRatios(...googleShapes)],
  [/\/luma-photon/, lumaShapes],
  [/uni-1\/.*edit$/, none],
  [/uni-1/, aspectRatios("3:1", "2:1", "16:9", "3:2", "1:1", "2:3", "9:16", "1:2", "1:3")],
  [/\/ideogram\/(v2a?\/.*edit$|v3\/(edit|replace-background)|character\/edit)/, none],
  [/\/ideogram\/v2|\/ideogram\/.*(custom-models|transparent)/, { ratios: ideogramShapes }],
  [
    /\/grok-imagine/,
    aspectRatios(
      "2:1",
      "20:9",
      "19.5:9",
      "16:9",
      "4:3",
      "3:2",
      "1:1",
      "2:3",
      "3:4",
      "9:16",
      "9:19.5",
      "9:20",
      "1:2",
    ),
  ],
  [/\bbria\/(genfill|background|reimagine|replace|extract)/, none],
  [/\bbria\//, aspectRatios("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9")],
  [
    /\/minimax\/image|\/kling-image/,
    aspectRatios("1:1", "16:9", "4:3", "3:2", "2:3", "3:4", "9:16", "21:9"),
  ],
  [/^krea\/v2/, aspectRatios("1:1", "4:3", "3:2", "16:9", "4:5", "2:3", "9:16")],
  [/\/phota/, aspectRatios("1:1", "16:9", "4:3", "3:4", "9:16")],
  [/\/vidu\//, aspectRatios("16:9", "9:16", "1:1")],
  [/^(reve|imagineart|microsoft)\/|\/imagen|\/nucleus-image|\/sensenova/, commonShapes],
  // Editing endpoints that keep the size of the input image.
  [/\/(flux(-1)?\/\w+\/image-to-image|flux-kontext(?!.*text-to-image)|flux-pro\/v1\/)/, none],
  [/\/(bagel|chrono-edit|longcat-image\/edit|recraft\/v3\/image-to-image)|^fal-ai\/inpaint$/, none],
  [
    /\/(lora|juggernaut-flux\/\w+)\/image-to-image|\/(stepx-edit2|joyai-image-edit|object-removal)/,
    none,
  ],
];

/**
 * Endpoints with one image per request. Most generate up to four. @fal-ai/client 1.10.1: wan/v2.7 generates "up to"
 * `max_images`, which may be fewer than requested.
 */
const single =
  /\/wan\/v2\.7\/(pro\/)?text-to-image|\/(flux-2-(pro|flex|max)|flux-2\/klein\/realtime|qwen-image-layered|flux-pulid|flux-pro\/v1\/vto|recraft|luma-photon|ideogram\/(v2|upscale|remove|v3\/layerize)|emu-3|bagel|chrono-edit|image-editing|inpaint$)|\/wan\/v2\.2|uni-1|^(krea|imagineart|bria)\/|\/vidu\//;
/** Endpoints that support `num_images`. An unknown endpoint gets one request per image. */
const several =
  /\/(flux|gpt-image|ideogram|qwen-image|seedream|hidream|z-image|sana|nano-banana|gemini|stable-diffusion|fast-|hunyuan-image|kling-image|minimax\/image|grok-imagine|wan|imagen)|^(ideogram|openai|reve|microsoft|nvidia|google)\//;

/** Names of endpoints that take an image. */
const editor =
  /edit|image-to-image|inpaint|fill|kontext|remix|redux|reframe|modify|\bmulti\b|replace|reference|character|canny|depth|general|subject|pulid|tiling|realtime|kling-image\/o1|\/uno$|\/uso$|omnigen|eras|remov|relight|iclight|expand|outpaint|upscal|restor|layer|control(?!net-union)|add-|style|lora-gallery|-i2i|illusion|pasd|\/vto|try-?on|image-to-svg|\/extract$/;

/** Endpoints that would ignore an input image. An endpoint that is not fal's own is assumed to use it. */
const ignoresImages = (endpoint: string): boolean =>
  /\/text-to-(image|vector)$/.test(endpoint) ||
  ((endpoint.startsWith("fal-ai/") || several.test(endpoint)) && !editor.test(endpoint));

const formatRules: Rule<readonly string[]> = [
  [/\/flux-2\/klein\/realtime|\/flux-pulid|\/ideogram\/(upscale|v3\/layerize)|\/wan\/v2\.7/, []],
  [/\/qwen-image-layered/, ["png", "webp"]],
  [/\/flux-2-(pro|flex|max)/, ["jpeg", "png"]],
  [/\/(flux-2|gpt-image|z-image|qwen-image-(2|edit-2511)|kling-image)/, ["jpeg", "png", "webp"]],
  [/nano-banana|\/gemini-.*image|\/grok-imagine/, ["jpeg", "png", "webp"]],
  [
    /\/(flux|hidream|qwen-image|sana|stable-diffusion-v35|hunyuan-image)|^ideogram\/v4/,
    ["jpeg", "png"],
  ],
];

/** Whether the size is sent in OpenAI's format, `1024x1024`. Otherwise it is an object of width and height. */
export const isOpenaiSize = (model: string): boolean => /\/gpt-image-1\b/.test(model);

/**
 * A model has one endpoint for generating and one for editing, and a configuration names one of the two. Returns the
 * endpoint of the operation, for models whose other endpoint can be derived from the name, otherwise `model`.
 */
export function falEndpoint(model: string, operation: ImageOperation, images = 0): string {
  const edits = operation === "edits";
  if (/\/flux-pro\/kontext(\/max)?$/.test(model)) {
    if (!edits) return `${model}/text-to-image`;
    return images > 1 ? `${model}/multi` : model;
  }
  if (!edits) return model;
  if (/\/gpt-image-1\/text-to-image$/.test(model))
    return model.replace(/text-to-image$/, "edit-image");
  if (
    /\/(seedream|qwen-image-(2|max)|wan\/v2\.7|hunyuan-image\/v3\/instruct|grok-imagine|gpt-image-2\.\d).*\/text-to-image$/.test(
      model,
    )
  ) {
    return model.replace(/text-to-image$/, "edit");
  }
  return /(nano-banana(?!-2-lite)(-\w+)*|\/gemini-[\w.-]*image(-preview)?|\/flux-2(-(pro|flex|max))?|\/flux-2\/(flash|turbo|klein\/\d+b)|\/gpt-image-(1\.5|1-mini|2)|\/grok-imagine-image)$/.test(
    model,
  )
    ? `${model}/edit`
    : model;
}

/** The tiers above `high` are those of GPT Image 2.5 and later. */
const qualitiesOf = (endpoint: string): readonly string[] => [
  "low",
  "medium",
  "high",
  ...(/\/gpt-image-2\.\d/.test(endpoint) ? ["xhigh", "max"] : []),
];

/** Resolutions above its default of 1K that an endpoint has, in its own spelling. */
const resolutionRules: Rule<Readonly<Partial<Record<Resolution, string>>>> = [
  [/nano-banana(-2)?-lite|nano-banana-lite/, {}],
  [/nano-banana-(2|pro)|\/gemini-3[.\d]*-.*image|\/kling-image\/o3/, { "2K": "2K", "4K": "4K" }],
  [/\/kling-image\/(o1|v3)|^imagineart\/imagineart-2/, { "2K": "2K", "4K": "2K" }],
  [/\/grok-imagine/, { "2K": "2k", "4K": "2k" }],
  [/\/phota(\/edit)?$/, { "4K": "4K" }],
];

export const falResolution = (endpoint: string, resolution: Resolution): string | undefined =>
  first(resolutionRules, endpoint)?.[resolution];

export function falImageCapabilities(model: string, operation: ImageOperation): ImageCapabilities {
  const endpoint = falEndpoint(model, operation);
  const formats = first(formatRules, endpoint);
  const { maxImages } = falSources(endpoint);
  return {
    maxImages: !single.test(endpoint) && several.test(endpoint) ? 4 : 1,
    takes: {
      ...(formats && formats.length > 0 && { output_format: formats }),
      ...(/\/gpt-image/.test(endpoint) && { quality: qualitiesOf(endpoint) }),
      ...(/\/gpt-image-1/.test(endpoint) && { background: ["auto", "transparent", "opaque"] }),
      ...(/\/gpt-image-1(\.5)?\/edit/.test(endpoint) && { input_fidelity: ["low", "high"] }),
    },
    sizes: first(sizeRules, endpoint) ?? "any",
    ...(!ignoresImages(endpoint) && {
      edits: {
        // The endpoint for several images is derived from this one: see falEndpoint.
        maxImages: /\/flux-pro\/kontext(\/max)?$/.test(endpoint) ? 4 : maxImages,
        // White mask pixels are edited, with OpenAI's models too: docs.oxen.ai and docs.eden.art, resellers of fal.
        ...(falMaskOf(endpoint) && { mask: "white" as const }),
      },
    }),
  };
}
