/** What models on fal take: their endpoints are named alike, and so are their fields. */
import type { ImageTraits, Sizes } from "../../image-traits.ts";

// All facts of this file: libs/client/src/types/endpoints.ts of github.com/fal-ai/fal-js, which is made from the schemas
// of all endpoints.

type Rule<T> = readonly (readonly [RegExp, T])[];

const first = <T>(rules: Rule<T>, model: string): T | undefined =>
  rules.find(([name]) => name.test(model))?.[1];

const shapes = (...ratios: string[]): Sizes => ({ ratios });

const fluxShapes = shapes("21:9", "16:9", "4:3", "3:2", "1:1", "2:3", "3:4", "9:16", "9:21");
const ideogramShapes = [
  ...["10:16", "16:10", "9:16", "16:9", "4:3", "3:4", "1:1", "1:3", "3:1", "3:2", "2:3"],
];
const lumaShapes = shapes("1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21");
const commonShapes = shapes("1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3");
const none: Sizes = { list: [] };

const sizeRules: Rule<Sizes> = [
  [/\/gpt-image-1\b/, { list: ["1024x1024", "1536x1024", "1024x1536"] }],
  [/\/flux-pro\/(kontext|v1\.1-ultra)|\/emu-3\.5|\/image-editing\//, fluxShapes],
  [
    /nano-banana|\/gemini-.*image/,
    shapes("21:9", "16:9", "3:2", "4:3", "5:4", "1:1", "4:5", "3:4", "2:3", "9:16"),
  ],
  [/\/luma-photon/, lumaShapes],
  [/uni-1\/.*edit$/, none],
  [/uni-1/, shapes("3:1", "2:1", "16:9", "3:2", "1:1", "2:3", "9:16", "1:2", "1:3")],
  [/\/ideogram\/(v2a?\/.*edit$|v3\/(edit|replace-background)|character\/edit)/, none],
  [/\/ideogram\/v2|\/ideogram\/.*(custom-models|transparent)/, { ratios: ideogramShapes }],
  [/\/grok-imagine/, shapes("2:1", "16:9", "4:3", "3:2", "1:1", "2:3", "3:4", "9:16", "1:2")],
  [/\bbria\/(genfill|background|reimagine|replace|extract)/, none],
  [/\bbria\//, shapes("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9")],
  [
    /\/minimax\/image|\/kling-image/,
    shapes("1:1", "16:9", "4:3", "3:2", "2:3", "3:4", "9:16", "21:9"),
  ],
  [/^krea\/v2/, shapes("1:1", "4:3", "3:2", "16:9", "4:5", "2:3", "9:16")],
  [/\/phota/, shapes("1:1", "16:9", "4:3", "3:4", "9:16")],
  [/\/vidu\//, shapes("16:9", "9:16", "1:1")],
  [/^(reve|imagineart|microsoft)\/|\/imagen|\/nucleus-image|\/sensenova/, commonShapes],
  // Editors that make a picture as large as the one they are given.
  [/\/(flux(-1)?\/\w+\/image-to-image|flux-kontext(?!.*text-to-image)|flux-pro\/v1\/)/, none],
  [/\/(bagel|chrono-edit|longcat-image\/edit|recraft\/v3\/image-to-image)|^fal-ai\/inpaint$/, none],
  [
    /\/(lora|juggernaut-flux\/\w+)\/image-to-image|\/(stepx-edit2|joyai-image-edit|object-removal)/,
    none,
  ],
];

/** Where one picture is all that a call makes. Most make up to four. */
const single =
  /\/(flux-2-(pro|flex|max)|flux-pulid|flux-pro\/v1\/vto|recraft|luma-photon|ideogram\/v2|emu-3|bagel|chrono-edit|image-editing|inpaint$)|\/wan\/v2\.2|uni-1|^(krea|imagineart|bria)\/|\/vidu\//;
/** Known to take `num_images`. A model that nobody knows is asked for one, and as often as needed. */
const several =
  /\/(flux|gpt-image|ideogram|qwen-image|seedream|hidream|z-image|sana|nano-banana|gemini|stable-diffusion|fast-|hunyuan-image|kling-image|minimax\/image|grok-imagine|wan|imagen)|^(ideogram|openai|reve|microsoft|nvidia|google)\//;

/** What endpoints are called that look at a picture. */
const editor =
  /edit|image-to-image|inpaint|fill|kontext|remix|redux|reframe|modify|\bmulti\b|replace|reference|character|canny|depth|general|subject|pulid|tiling|realtime|kling-image\/o1|\/uno$|\/uso$|omnigen|eras|remov|relight|iclight|expand|outpaint|upscal|restor|layer|control-light|add-|style/;

/** Given a picture, it would draw without a look at it. Of an endpoint that is not one of fal's own, the best is believed. */
const isBlind = (endpoint: string): boolean =>
  /\/text-to-(image|vector)$/.test(endpoint) ||
  ((endpoint.startsWith("fal-ai/") || several.test(endpoint)) && !editor.test(endpoint));

const formatRules: Rule<readonly string[]> = [
  [/\/flux-2-(pro|flex|max)/, ["jpeg", "png"]],
  [/\/(flux-2|gpt-image|z-image|qwen-image-(2|edit-2511)|kling-image)/, ["jpeg", "png", "webp"]],
  [/nano-banana|\/gemini-.*image|\/grok-imagine|\/wan\/v2\.7/, ["jpeg", "png", "webp"]],
  [
    /\/(flux|hidream|qwen-image|sana|stable-diffusion-v35|hunyuan-image)|^ideogram\/v4/,
    ["jpeg", "png"],
  ],
];

export type SourceField = "image_url" | "image_urls" | "reference_image_urls" | "input_image_urls";

const manyRules: Rule<readonly [SourceField, number]> = [
  [/\/hidream-o1|\/krea-2\/.*style|\/vidu\//, ["reference_image_urls", 4]],
  [/\/(omnigen|uno$|uso$)/, ["input_image_urls", 4]],
  [/\/gpt-image-2/, ["image_urls", 16]],
  [/\/gpt-image|\/seedream\//, ["image_urls", 10]],
  [/nano-banana|\/gemini-.*image/, ["image_urls", 10]],
  [/\/flux-2(-(pro|flex|max))?\b(?!.*realtime)/, ["image_urls", 4]],
  [/\/(qwen-image-(2|max)|wan-25|wan\/v2\.7|hunyuan-image|glm-image|firered)/, ["image_urls", 3]],
  [/\/qwen-image-edit-(25|plus)/, ["image_urls", 3]],
  [
    /\/(kontext\/(max\/)?multi|kling-image\/o|grok-imagine|phota|dreamomni|hy-wu)/,
    ["image_urls", 4],
  ],
  [/^(wan\/v2\.6|imagineart|microsoft\/mai-image-2\.5\/|reve\/.*remix)/, ["image_urls", 3]],
];

const maskRules: Rule<"mask_url" | "mask_image_url"> = [
  [/\/gpt-image-1\.5|\/z-image\/.*inpaint|\/iclight/, "mask_image_url"],
  [/\/gpt-image-2/, "mask_url"],
  [/inpaint|\/fill\b|-fill\b|fill-finetuned|genfill|\/lcm-sd15/, "mask_url"],
  [/\/ideogram\/(v[23]|character)\/?(turbo\/)?edit/, "mask_url"],
];

/** Which picture field, and how many fit in. */
export const falSourceOf = (model: string): readonly [SourceField, number] =>
  first(manyRules, model) ?? ["image_url", 1];

export const falMaskOf = (model: string) => first(maskRules, model);

/** fal tells width and height as an object; of OpenAI's first models as OpenAI has it. */
export const isOpenaiSize = (model: string): boolean => /\/gpt-image-1\b/.test(model);

/**
 * Generating and editing are two endpoints of one model, and a configuration names one of them. These are those whose names
 * tell the other; an endpoint that is already the right one stays.
 */
export function falEndpoint(model: string, operation: "generations" | "edits", images = 0): string {
  const edits = operation === "edits";
  if (/\/flux-pro\/kontext(\/max)?$/.test(model)) {
    if (!edits) return `${model}/text-to-image`;
    return images > 1 ? `${model}/multi` : model;
  }
  if (!edits) return model;
  if (/\/gpt-image-1\/text-to-image$/.test(model))
    return model.replace(/text-to-image$/, "edit-image");
  if (
    /\/(seedream|qwen-image-(2|max)|wan\/v2\.7|hunyuan-image\/v3\/instruct|grok-imagine).*\/text-to-image$/.test(
      model,
    )
  ) {
    return model.replace(/text-to-image$/, "edit");
  }
  return /(nano-banana(-\w+)*|\/gemini-[\w.-]*image(-preview)?|\/flux-2(-(pro|flex|max))?|\/flux-2\/(flash|turbo|klein\/\d+b)|\/gpt-image-(1\.5|1-mini|2)|\/grok-imagine-image)$/.test(
    model,
  )
    ? `${model}/edit`
    : model;
}

export function falTraits(model: string, operation: "generations" | "edits"): ImageTraits {
  const endpoint = falEndpoint(model, operation);
  const formats = first(formatRules, endpoint);
  const [, most] = falSourceOf(endpoint);
  return {
    maxImages: !single.test(endpoint) && several.test(endpoint) ? 4 : 1,
    takes: {
      ...(formats && { output_format: formats }),
      ...(/\/gpt-image/.test(endpoint) && { quality: ["low", "medium", "high"] }),
      ...(/\/gpt-image-1/.test(endpoint) && { background: ["auto", "transparent", "opaque"] }),
      ...(/\/gpt-image-1(\.5)?\/edit/.test(endpoint) && { input_fidelity: ["low", "high"] }),
    },
    sizes: first(sizeRules, endpoint) ?? "any",
    ...(!isBlind(endpoint) && {
      edits: {
        // Its twin takes several: see falEndpoint.
        maxImages: /\/flux-pro\/kontext(\/max)?$/.test(endpoint) ? 4 : most,
        // White is what changes, with OpenAI's models as well: docs.oxen.ai and docs.eden.art, which both serve fal's.
        ...(falMaskOf(endpoint) && { mask: "white" as const }),
      },
    }),
  };
}
