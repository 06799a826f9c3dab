/**
 * Image models known to be served by each kind of upstream besides OpenAI and Azure. Only a few verified rows: the
 * adapter names the source of each, and any other model of the vendor can be named in vexel.yaml. A model that its
 * vendor shuts down stays until its shutdown date: catalog/shutdowns/images.ts.
 */
export const imageProviders: Readonly<Record<string, readonly string[]>> = {
  gemini: ["gemini-nano-banana-2.1", "gemini-2.5-flash-image"],
  bedrock: ["stability.sd3-5-large-v1:0", "stability.stable-image-core-v1:1"],
  bfl: ["flux-2-pro", "flux-pro-1.1", "flux-kontext-pro"],
  stability: ["stable-image-core", "stable-image-ultra", "sd3.5-large"],
  fal: ["fal-ai/flux/dev", "fal-ai/flux-2-pro", "fal-ai/nano-banana", "fal-ai/nano-banana-2"],
  replicate: ["black-forest-labs/flux-schnell", "black-forest-labs/flux-2-pro"],
  luma: ["photon-1"],
  "luma-agents": ["uni-1"],
  runware: ["runware:101@1"],
  recraft: ["recraftv3", "recraftv4_1"],
  ideogram: ["ideogram-4-5", "ideogram-3"],
  xai: ["grok-imagine-image", "grok-imagine-image-2.0"],
  minimax: ["image-01"],
  together: ["black-forest-labs/FLUX.2-pro", "black-forest-labs/FLUX.1-schnell"],
  fireworks: [
    "accounts/fireworks/models/flux-1-schnell-fp8",
    "accounts/fireworks/models/flux-kontext-pro",
  ],
  deepinfra: ["black-forest-labs/FLUX-1-schnell"],
  siliconflow: ["Kwai-Kolors/Kolors", "Qwen/Qwen-Image"],
  openrouter: ["openai/gpt-image-1.5", "google/gemini-2.5-flash-image"],
  cloudflare: ["@cf/black-forest-labs/flux-1-schnell", "@cf/black-forest-labs/flux-2-dev"],
  // qwen-image-3.0: litellm 1.108.4, 2026-11-15.
  dashscope: ["qwen-image-plus", "qwen-image-2.0-pro", "qwen-image-3.0", "wan2.7-image"],
  volcengine: ["doubao-seedream-4-0-250828"],
  zhipu: ["cogview-4-250304", "glm-image"],
};
