/** Alibaba's image model families: the endpoint of each and its capabilities there. */
import {
  type EditCapabilities,
  type ImageCapabilities,
  pixelRange,
  type SizeRule,
  type Sizes,
} from "../../image-capabilities.ts";

interface DashscopeFamily {
  /**
   * `messages`: a chat-style request with a direct response. `messages-operation`: the same as an operation.
   * `prompt-operation`: a prompt and a list of images, as an operation. `masked-operation`: an operation with one image
   * and a mask.
   */
  readonly endpoint: "messages" | "messages-operation" | "prompt-operation" | "masked-operation";
  readonly capabilities: ImageCapabilities;
}

const edges = (minEdge: number, maxEdge: number): { rule: SizeRule } => ({
  rule: { multipleOf: 1, minEdge, maxEdge },
});

/** Models that take images also download them from links. For all of them, 10 MB per image are documented. */
const inputImages = (
  maxImages: number,
  mask?: EditCapabilities["mask"],
): { edits: EditCapabilities } => ({
  edits: { maxImages, links: true, maxBytes: 10 * 1024 * 1024, ...(mask && { mask }) },
});

/** The input images of a model that does not generate from a prompt alone. */
const onlyInputImages = (
  ...images: Parameters<typeof inputImages>
): Pick<ImageCapabilities, "edits" | "editsOnly"> => ({
  ...inputImages(...images),
  editsOnly: true,
});

const capabilities = (
  maxImages: number,
  sizes: Sizes,
  more: Pick<ImageCapabilities, "maxPrompt" | "edits" | "editsOnly"> = {},
): ImageCapabilities => ({ maxImages, takes: {}, sizes, ...more });

const square = (edge: number): number => edge * edge;

/**
 * The first match applies. Longer prompts than documented here would be truncated silently. Sizes are "any" if a model
 * also takes names such as 2K.
 */
const families: readonly (readonly [RegExp, DashscopeFamily])[] = [
  // alibabacloud.com/help/en/model-studio/wanx-image-edit: white mask pixels are edited.
  [
    /^wanx[\d.]*-imageedit/,
    {
      endpoint: "masked-operation",
      capabilities: capabilities(4, { list: [] }, onlyInputImages(1, "white")),
    },
  ],
  // alibabacloud.com/help/en/model-studio/wan2-5-image-edit-api-reference.
  [
    /^wan2\.5-i2i/,
    {
      endpoint: "prompt-operation",
      capabilities: capabilities(4, pixelRange(square(768), square(1280), 4), {
        maxPrompt: 2000,
        ...onlyInputImages(3),
      }),
    },
  ],
  // These four: docs.qwencloud.com/api-reference/image-generation/wan-text-to-image-v2/create-task. Older pages begin
  // at 768*768.
  [
    /^wan2\.6-t2i/,
    {
      endpoint: "messages-operation",
      capabilities: capabilities(4, pixelRange(square(768), square(1440), 4), { maxPrompt: 2100 }),
    },
  ],
  [
    /^wan2\.5-t2i/,
    {
      endpoint: "prompt-operation",
      capabilities: capabilities(4, pixelRange(square(768), square(1440), 4), { maxPrompt: 2000 }),
    },
  ],
  [
    /^wanx?2\.[1-4]-t2i/,
    {
      endpoint: "prompt-operation",
      capabilities: capabilities(4, edges(512, 1440), { maxPrompt: 500 }),
    },
  ],
  [
    /^wanx2\.0-t2i/,
    {
      endpoint: "prompt-operation",
      capabilities: capabilities(4, edges(512, 1440), { maxPrompt: 800 }),
    },
  ],
  // The first generation, from its error message: "The size is not match the allowed size ['1024*1024', …".
  [
    /^wanx-v1/,
    {
      endpoint: "prompt-operation",
      capabilities: capabilities(4, { list: ["1024x1024", "720x1280", "1280x720"] }),
    },
  ],
  // alibabacloud.com/help/en/model-studio/wan-image-generation-api-reference. From a prompt alone it generates texts
  // with images in them.
  [
    /^wan2\.6-image/,
    {
      endpoint: "messages-operation",
      capabilities: capabilities(4, "any", { maxPrompt: 2000, ...onlyInputImages(4) }),
    },
  ],
  // docs.qwencloud.com/api-reference/image-generation/wan27-image-gen-edit.
  [
    /^wan2\.7/,
    {
      endpoint: "messages-operation",
      capabilities: capabilities(4, "any", { maxPrompt: 5000, ...inputImages(9) }),
    },
  ],
  [
    /^wan/,
    { endpoint: "messages-operation", capabilities: capabilities(4, "any", inputImages(9)) },
  ],
  // These two: alibabacloud.com/help/en/model-studio/qwen-image-edit-api. The first of them takes no size.
  [
    /^qwen-image-edit(-\d{4}-.*)?$/,
    {
      endpoint: "messages",
      capabilities: capabilities(1, { list: [] }, { maxPrompt: 800, ...onlyInputImages(3) }),
    },
  ],
  [
    /^qwen-image-edit/,
    {
      endpoint: "messages",
      capabilities: capabilities(6, edges(512, 2048), { maxPrompt: 800, ...onlyInputImages(3) }),
    },
  ],
  // alibabacloud.com/help/en/model-studio/qwen-image-generation-and-editing-api-reference.
  [
    /^qwen-image-2\.1/,
    {
      endpoint: "messages",
      capabilities: capabilities(6, pixelRange(square(512), square(2048), 8), inputImages(10)),
    },
  ],
  [
    /^qwen-image-\d/,
    {
      endpoint: "messages",
      capabilities: capabilities(6, pixelRange(square(512), square(2048), 8), inputImages(3)),
    },
  ],
  // alibabacloud.com/help/en/model-studio/qwen-image-api: one image per request, in one of five sizes.
  [
    /^qwen-image/,
    {
      endpoint: "messages",
      capabilities: capabilities(
        1,
        { list: ["1664x928", "1472x1104", "1328x1328", "1104x1472", "928x1664"] },
        { maxPrompt: 800 },
      ),
    },
  ],
  // cinience/alicloud-skills, aliyun-zimage-turbo: reference. It does not document aspect ratios.
  [
    /^z-image/,
    {
      endpoint: "messages",
      capabilities: capabilities(1, pixelRange(square(512), square(2048), 16)),
    },
  ],
];

/** Unknown models use the chat-style request, as all models of the last year do. */
const unknown: DashscopeFamily = {
  endpoint: "messages",
  capabilities: capabilities(1, "any", inputImages(3)),
};

export const dashscopeFamily = (model: string): DashscopeFamily =>
  families.find(([name]) => name.test(model))?.[1] ?? unknown;
