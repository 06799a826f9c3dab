/** The capabilities of image models: a row for each model family of each vendor, and one for unknown models. */
import type { Adapter } from "../../server/upstream/adapter.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { openaiImageModels } from "../../server/upstream/catalog/images/openai.ts";
import { createUpstreamClient } from "../../server/upstream/client.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { createCredentialCache } from "../../server/upstream/credentials/credential-cache.ts";
import type { ImageCapabilities } from "../../server/upstream/image-capabilities.ts";

export type Operation = "generations" | "edits";

export interface Row {
  /** If absent, runs inside the gateway. */
  readonly adapter?: Adapter;
  readonly target: Target;
  readonly operation: Operation;
  readonly capabilities: ImageCapabilities;
}

const openai = [
  ...openaiImageModels.flatMap(({ name, also = [] }) => [name, ...also]),
  "gpt-image-9",
];

const fal = [
  "fal-ai/flux/dev",
  "fal-ai/flux/dev/image-to-image",
  "fal-ai/flux-2-pro",
  "fal-ai/flux-2",
  "fal-ai/flux-pro/kontext",
  "fal-ai/flux-pro/v1.1-ultra",
  "fal-ai/flux-pro/v1/fill",
  "fal-ai/gpt-image-1/text-to-image",
  "fal-ai/gpt-image-1.5",
  "openai/gpt-image-2",
  "fal-ai/nano-banana",
  "fal-ai/luma-photon",
  "fal-ai/ideogram/v2",
  "fal-ai/ideogram/v3",
  "fal-ai/ideogram/v2/edit",
  "xai/grok-imagine-image",
  "fal-ai/recraft/v3/text-to-image",
  "fal-ai/bytedance/seedream/v4/text-to-image",
  "fal-ai/qwen-image",
  "fal-ai/imagen4",
  "fal-ai/nano-banana-2",
  "fal-ai/ideogram/character",
  "fal-ai/clarity-upscaler",
  "fal-ai/flux-2/klein/realtime",
  "openai/gpt-image-2.5/flare/text-to-image",
  "fal-ai/minimax/image-01",
  "krea/v2",
  "bria/text-to-image/3.2",
  "bria/genfill",
];

const replicate = [
  "openai/gpt-image-1",
  "black-forest-labs/flux-2-pro",
  "black-forest-labs/flux-kontext-pro",
  "black-forest-labs/flux-fill-dev",
  "black-forest-labs/flux-fill-pro",
  "black-forest-labs/flux-1.1-pro-ultra",
  "black-forest-labs/flux-pro",
  "black-forest-labs/flux-schnell",
  "black-forest-labs/flux-dev",
  "google/nano-banana",
  "bytedance/seedream-4",
  "google/imagen-4",
  "ideogram-ai/ideogram-v3-turbo",
  "qwen/qwen-image-edit-plus",
  "qwen/qwen-image",
  "recraft-ai/recraft-v3",
  "stability-ai/stable-diffusion-3.5-large",
  "stability-ai/sdxl",
  "luma/photon",
];

const dashscope = [
  "wanx2.1-imageedit",
  "wan2.5-i2i-preview",
  "wan2.6-t2i",
  "wan2.5-t2i-preview",
  "wan2.2-t2i-flash",
  "wanx2.0-t2i-turbo",
  "wanx-v1",
  "wan2.6-image",
  "wan2.7-image",
  "wan3",
  "qwen-image-edit",
  "qwen-image-edit-plus",
  "qwen-image-2.1",
  "qwen-image-2.0-pro",
  "qwen-image-plus",
  "z-image-turbo",
];

const bedrock = [
  "amazon.nova-canvas-v1:0",
  "amazon.titan-image-generator-v2:0",
  "stability.sd3-5-large-v1:0",
  "stability.stable-image-core-v1:1",
  "us.stability.stable-image-inpaint-v1:0",
  "us.stability.stable-image-style-guide-v1:0",
];

/** By kind of upstream. Kinds that are not listed count as unknown servers. */
const models: Readonly<Record<string, readonly string[]>> = {
  openai,
  azure: openai,
  fal,
  replicate,
  dashscope,
  bedrock,
  bfl: [
    "flux-2-klein-4b",
    "flux-2-pro",
    "flux-kontext-pro",
    "flux-pro-1.0-fill",
    "flux-pro-1.0-expand",
    "flux-pro-1.1-ultra",
    "flux-pro-1.1",
  ],
  cloudflare: [
    "@cf/black-forest-labs/flux-1-schnell",
    "@cf/black-forest-labs/flux-2-dev",
    "@cf/runwayml/stable-diffusion-v1-5-inpainting",
    "@cf/lykon/dreamshaper-8-lcm",
    "@cf/leonardo/lucid-origin",
    "@cf/leonardo/phoenix-1.0",
  ],
  fireworks: ["flux-1-schnell-fp8", "flux-kontext-pro", "stable-diffusion-xl-1024-v1-0"],
  gemini: [
    "gemini-2.5-flash-image",
    "gemini-3-pro-image",
    "gemini-3.1-flash-image",
    "gemini-3.1-flash-lite-image",
    "gemini-nano-banana-2.1",
  ],
  vertex: [
    "gemini-nano-banana-2.1",
    "gemini-3.1-flash-image",
    "imagen-4.0-generate-001",
    "imagen-3.0-capability-001",
  ],
  ideogram: [
    "V_2",
    "ideogram-v3",
    "ideogram-v4",
    "ideogram-4-5",
    "ideogram-3-transparent",
    "ideogram-4",
    "ideogram-3",
    "ideogram-2",
    "p-image",
    "nano-banana",
    "gpt-image-2-5",
  ],
  luma: ["photon-1"],
  "luma-agents": ["uni-1"],
  minimax: ["image-01", "image-01-live", "MiniMax-H3-Image"],
  openrouter: [
    "openai/gpt-image-2",
    "openai/gpt-image-2.5-sunburst",
    "google/gemini-2.5-flash-image",
    "google/gemini-nano-banana-2.1",
    "quiver/arrow-2",
  ],
  recraft: ["recraftv3", "recraftv3_vector", "recraftv4_1"],
  runware: [
    "bfl:5@1",
    "bfl:1@2",
    "bytedance:seedream@4.5",
    "bfl:flux@erase",
    "bria:20@1",
    "exactly:photo@journey",
    "ideogram:4@4",
  ],
  siliconflow: ["Qwen/Qwen-Image-Edit-2509", "Qwen/Qwen-Image", "Kwai-Kolors/Kolors"],
  stability: ["ultra", "core", "sd3.5-large", "edit/inpaint", "edit/remove-background", "style"],
  together: ["black-forest-labs/FLUX.1-kontext-pro", "black-forest-labs/FLUX.2-pro", "imagen-4.0"],
  volcengine: [
    "doubao-seedream-5-0-pro",
    "doubao-seedream-5-0",
    "doubao-seedream-5-0-flash",
    "doubao-seedream-4-5",
    "doubao-seedream-4-0",
    "doubao-seedream-3-0-t2i",
    "doubao-seededit-3-0-i2i",
    "ep-20260101",
  ],
  xai: ["grok-2-image", "grok-imagine-image-2.0", "grok-imagine-image"],
  zhipu: ["glm-image", "cogview-4"],
};

function* rowsOf(
  kind: string,
  adapter: Adapter,
  model: string,
  more: Partial<Target>,
): Generator<[string, Row]> {
  const upstream = { id: "up", kind, apiKey: "k", headers: {}, options: {} };
  const target: Target = { model, upstream, ...more };
  for (const operation of ["generations", "edits"] as const) {
    const capabilities = adapter.imageCapabilities?.(target, operation);
    if (!capabilities || !adapter[operation]) continue;
    // No request of this kind is planned.
    if (operation === "edits" ? !capabilities.edits : capabilities.editsOnly) continue;
    const surface = more.surface ? ` (${more.surface})` : "";
    yield [
      `${kind}/${model}${surface}, ${operation}`,
      { adapter, target, operation, capabilities },
    ];
  }
}

/** A client without adapters has the built-in image models only. */
const send = () => Promise.reject(new Error("no upstream request is sent"));
const inside = createUpstreamClient({
  adapters: new Map(),
  builtInModels: new Map(),
  send,
  credentials: createCredentialCache({ send, now: () => 0, env: {} }),
  now: () => 0,
});

function* insideRows(): Generator<[string, Row]> {
  for (const [kind, operation] of [
    ["sketch", "generations"],
    ["sketch", "edits"],
  ] as const) {
    const upstream = { id: "up", kind, headers: {}, options: {} };
    const target: Target = { model: kind, upstream };
    const capabilities = inside.imageCapabilities(target, operation);
    yield [`${kind}, ${operation}`, { target, operation, capabilities }];
  }
}

/** By kind of upstream, then by name. */
export const rows: ReadonlyMap<string, ReadonlyMap<string, Row>> = new Map(
  [...adapters]
    .filter(([, { imageCapabilities: images }]) => images)
    .map(([kind, adapter]): [string, ReadonlyMap<string, Row>] => [
      kind,
      new Map(
        [...(models[kind] ?? []), "some-new-model-9"].flatMap((model) => [
          ...rowsOf(kind, adapter, model, {}),
          ...(kind === "openai" ? rowsOf(kind, adapter, model, { surface: "responses" }) : []),
        ]),
      ),
    ])
    .concat([["sketch", new Map(insideRows())]]),
);

/** Kinds that have rows of their own. */
export const namedKinds = Object.keys(models);
