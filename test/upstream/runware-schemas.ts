/**
 * Runware's models by the schema that each declares, from maximhq/bifrost, core/providers/runware/models.go
 * (2026-08-22), which has them from schemas.runware.ai. Runware refuses any field that a model's schema does not
 * declare.
 */
import { words } from "../words.ts";

interface DeclaredSchema {
  /** The fields that hold the images of an edit. */
  readonly images: "inputs.referenceImages" | "inputs.image" | "seedImage";
  readonly sized: boolean;
  readonly prompted: boolean;
  readonly models: readonly string[];
}

export const declaredSchemas: readonly DeclaredSchema[] = [
  {
    images: "inputs.referenceImages",
    sized: true,
    prompted: true,
    models: words(`
      alibaba:qwen-image@2.0 alibaba:qwen-image@2.0-pro alibaba:qwen-image@3.0
      alibaba:qwen-image@3.0-pro alibaba:wan@2.6-image alibaba:wan@2.7-image
      alibaba:wan@2.7-image-pro bfl:3@1 bfl:4@1 bfl:5@1 bfl:6@1 bfl:7@1 bria:11@1 bytedance:5@0
      bytedance:seedream@4.5 bytedance:seedream@5.0-lite bytedance:seedream@5.0-pro google:4@1
      google:4@2 google:4@3 google:nano-banana@2-lite ideogram:2@2 ideogram:3@2 ideogram:4@2
      imagineart:2.0@0 klingai:kling-image@3 klingai:kling-image@o1 klingai:kling-image@o3
      krea:krea@2-large krea:krea@2-medium krea:krea@2-medium-turbo luma:uni@1 luma:uni@1-max
      openai:1@1 openai:1@2 openai:4@1 openai:gpt-image@2 prunaai:2@1 reve:2@1 runware:106@1
      runware:108@20 runware:108@22 runware:400@1 runware:400@2 runware:400@3 runware:400@4
      runware:400@5 runware:400@6 runway:4@1 runway:4@2 sourceful:riverflow-2.0@fast
      sourceful:riverflow-2.0@pro sourceful:riverflow-2.5@fast sourceful:riverflow-2.5@pro
      vidu:q1@image xai:grok-imagine@image xai:grok-imagine@image-2.0
      xai:grok-imagine@image-quality
    `),
  },
  {
    images: "inputs.referenceImages",
    sized: false,
    prompted: true,
    models: ["alibaba:qwen-image@layered", "bfl:flux@vto", "prunaai:p-image@try-on"],
  },
  {
    images: "seedImage",
    sized: false,
    prompted: true,
    models: ["bfl:1@2", "bfl:1@3", "ideogram:4@3", "ideogram:4@5"],
  },
  {
    images: "inputs.image",
    sized: false,
    prompted: false,
    models: ["bfl:flux@erase", "bfl:flux@outpainting", "ideogram:object-remover@0"],
  },
  {
    images: "inputs.image",
    sized: true,
    prompted: true,
    models: ["bria:20@1", "bria:20@3"],
  },
  {
    images: "inputs.image",
    sized: false,
    prompted: true,
    models: ["bria:21@1", "bria:21@2", "ideogram:layerize-text@0", "runware:300@1"],
  },
  {
    images: "inputs.referenceImages",
    sized: true,
    prompted: false,
    models: words(`
      exactly:photo@bright-pulse exactly:photo@distant-reality exactly:photo@extreme-contrast
      exactly:photo@grain-film-look exactly:photo@journey exactly:photo@warm-light
    `),
  },
  {
    images: "seedImage",
    sized: true,
    prompted: false,
    models: ["ideogram:4@4"],
  },
];
