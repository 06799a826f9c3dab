/** All fake image vendors. */
import type { FakeVendor } from "../image-vendor.ts";
import { automatic1111 } from "./automatic1111.ts";
import { azure } from "./azure.ts";
import { azureAi } from "./azure-ai.ts";
import { bedrock } from "./bedrock.ts";
import { bfl } from "./bfl.ts";
import { cloudflare } from "./cloudflare.ts";
import { dashscope } from "./dashscope.ts";
import { deepinfra } from "./deepinfra.ts";
import { digitalocean } from "./digitalocean.ts";
import { fal } from "./fal.ts";
import { fireworks } from "./fireworks.ts";
import { gemini } from "./gemini.ts";
import { huggingface } from "./huggingface.ts";
import { huggingfaceRouter } from "./huggingface-router.ts";
import { ideogram } from "./ideogram.ts";
import { localai } from "./localai.ts";
import { luma } from "./luma.ts";
import { minimax } from "./minimax.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import { recraft } from "./recraft.ts";
import { replicate } from "./replicate.ts";
import { runware } from "./runware.ts";
import { runway } from "./runway.ts";
import { sglang } from "./sglang.ts";
import { siliconflow } from "./siliconflow.ts";
import { stability } from "./stability.ts";
import { tencent } from "./tencent.ts";
import { together } from "./together.ts";
import { venice } from "./venice.ts";
import { vertex } from "./vertex.ts";
import { volcengine } from "./volcengine.ts";
import { wavespeed } from "./wavespeed.ts";
import { xai } from "./xai.ts";
import { xinference } from "./xinference.ts";
import { zhipu } from "./zhipu.ts";

export const fakeVendors: readonly FakeVendor[] = [
  ...automatic1111,
  ...azure,
  ...azureAi,
  ...bedrock,
  ...bfl,
  ...cloudflare,
  ...dashscope,
  ...deepinfra,
  ...digitalocean,
  ...fal,
  ...fireworks,
  ...gemini,
  ...huggingface,
  ...huggingfaceRouter,
  ...ideogram,
  ...localai,
  ...luma,
  ...minimax,
  ...openai,
  ...openrouter,
  ...recraft,
  ...replicate,
  ...runware,
  ...runway,
  sglang,
  ...siliconflow,
  ...stability,
  ...tencent,
  ...together,
  ...venice,
  ...vertex,
  ...volcengine,
  ...wavespeed,
  ...xai,
  xinference,
  ...zhipu,
];
