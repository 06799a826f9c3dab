/** The fields in which fal's endpoints take the input images of an edit, by endpoint name. Facts as in families.ts. */

interface SourceFields {
  /** Fields of one image each: the first image goes into the first of them, and so on. */
  readonly single?: readonly string[];
  /** The field of all other images. */
  readonly list?: string;
  /** The maximum number of images, over all fields. */
  readonly maxImages: number;
}

const one = (...single: string[]): SourceFields => ({ single, maxImages: single.length });
const many = (list: string, maxImages: number): SourceFields => ({ list, maxImages });

const rules: readonly (readonly [RegExp, SourceFields])[] = [
  [/\/flux-2-lora-gallery\//, many("image_urls", 4)],
  [/\/flux-pro\/v1\/vto|\/cat-vton|virtual-try-?on$/, one("human_image_url", "garment_image_url")],
  [/\/flux-control-lora-\w+\/image-to-image/, one("image_url", "control_lora_image_url")],
  [/\/flux-control-lora-\w+$/, one("control_lora_image_url")],
  [/\/fast-sdxl-controlnet-canny\//, one("image_url", "control_image_url")],
  [/\/fast-sdxl-controlnet-canny$/, one("control_image_url")],
  [/\/differential-diffusion/, one("image_url", "change_map_image_url")],
  // The image to edit, and the character to insert.
  [
    /\/ideogram\/character\/(edit|remix)/,
    { single: ["image_url"], list: "reference_image_urls", maxImages: 5 },
  ],
  [/\/ideogram\/character$/, many("reference_image_urls", 4)],
  [/\/flux-kontext-lora\/inpaint/, one("image_url", "reference_image_url")],
  [/\/flux-(general|pulid)$/, one("reference_image_url")],
  [/\/fooocus\/inpaint/, one("inpaint_image_url")],
  [/\/fooocus\/upscale-or-vary/, one("uov_image_url")],
  [
    /\/hidream-o1|\/krea-2\/.*style|\/vidu\/|\/vecglypher\/|\/uni-1\/v1\/max$/,
    many("reference_image_urls", 4),
  ],
  [/\/(omnigen|uno$|uso$)/, many("input_image_urls", 4)],
  [/\/gpt-image-2/, many("image_urls", 16)],
  [/\/gpt-image|\/seedream\//, many("image_urls", 10)],
  [/nano-banana|\/gemini-.*image/, many("image_urls", 10)],
  [/\/flux-2(-(pro|flex|max))?\b(?!.*realtime|.*outpaint)/, many("image_urls", 4)],
  [
    /\/(qwen-image-(2|max)|wan-25|wan\/v2\.7|hunyuan-image|glm-image|firered)/,
    many("image_urls", 3),
  ],
  [/\/qwen-image-edit-(25|plus)/, many("image_urls", 3)],
  [
    /\/(kontext\/(max\/)?multi|kling-image\/o|grok-imagine|phota|dreamomni|hy-wu)/,
    many("image_urls", 4),
  ],
  [/^(wan\/v2\.6|imagineart|microsoft\/mai-image-2\.5\/|reve\/.*remix)/, many("image_urls", 3)],
];

export const falSources = (endpoint: string): SourceFields =>
  rules.find(([name]) => name.test(endpoint))?.[1] ?? one("image_url");

/** The images under the names of their fields. */
export function placeSources(
  endpoint: string,
  urls: readonly unknown[],
): Readonly<Record<string, unknown>> {
  const { single = [], list } = falSources(endpoint);
  const singleFields = single
    .slice(0, urls.length)
    .map((name, at): [string, unknown] => [name, urls[at]]);
  const others = urls.slice(single.length);
  return {
    ...Object.fromEntries(singleFields),
    ...(list !== undefined && others.length > 0 && { [list]: others }),
  };
}

const maskRules: readonly (readonly [RegExp, "mask_url" | "mask_image_url"])[] = [
  [/\/gpt-image-1\.5|\/z-image\/.*inpaint|\/iclight|\/fooocus\/inpaint/, "mask_image_url"],
  [/\/gpt-image-2/, "mask_url"],
  [/inpaint|\/fill\b|-fill\b|fill-finetuned|genfill|\/lcm-sd15/, "mask_url"],
  [/\/ideogram\/(v[23]|character)\/?(turbo\/)?edit/, "mask_url"],
];

export const falMaskOf = (endpoint: string): "mask_url" | "mask_image_url" | undefined =>
  maskRules.find(([name]) => name.test(endpoint))?.[1];
