/**
 * The input fields of Runware's models. Runware refuses a field that a model does not declare
 * (`unsupportedParameter`), so these facts decide whether a request works. All are from maximhq/bifrost,
 * core/providers/runware/models.go (2026-08-22), which has them from schemas.runware.ai.
 */

/** Where a model takes the images of an edit. */
type RunwareImageInput =
  /** `inputs.referenceImages`, a list. */
  | "references"
  /** `inputs.image`, with `inputs.mask` where the model erases or replaces a part. */
  | "image"
  /** `seedImage` and `maskImage`. */
  | "seed";

interface RunwareModel {
  readonly input: RunwareImageInput;
  /** Has no `width` and `height`: the output has the size of the input image. */
  readonly unsized?: true;
  /** Declares no `positivePrompt`. */
  readonly promptless?: true;
}

/** The first match applies. */
const models: readonly (readonly [RegExp, RunwareModel])[] = [
  [/^bfl:flux@(erase|outpainting)$/, { input: "image", unsized: true, promptless: true }],
  [/^bfl:flux@/, { input: "references", unsized: true }],
  [/^bfl:1@[23]$/, { input: "seed", unsized: true }],
  [/^bfl:([3-9]|\d\d)@/, { input: "references" }],
  [/^alibaba:qwen-image@layered$/, { input: "references", unsized: true }],
  [/^alibaba:(qwen-image|wan)@/, { input: "references" }],
  [/^bria:11@/, { input: "references" }],
  [/^bria:20@/, { input: "image" }],
  [/^bria:21@/, { input: "image", unsized: true }],
  [/^exactly:photo@/, { input: "references", promptless: true }],
  [/^ideogram:object-remover@/, { input: "image", unsized: true, promptless: true }],
  [/^ideogram:layerize-text@/, { input: "image", unsized: true }],
  [/^ideogram:[2-4]@2$/, { input: "references" }],
  [/^ideogram:4@[35]$/, { input: "seed", unsized: true }],
  [/^ideogram:4@4$/, { input: "seed", promptless: true }],
  [/^prunaai:p-image@try-on$/, { input: "references", unsized: true }],
  [/^prunaai:2@/, { input: "references" }],
  [/^runware:300@/, { input: "image", unsized: true }],
  [/^runware:(106|108@2[02]|400)\b/, { input: "references" }],
  [
    /^(bytedance|google|imagineart|klingai:kling-image|krea|luma|openai|reve|runway:4@|sourceful|vidu|xai)\b/,
    { input: "references" },
  ],
];

/** Any other model is assumed to be a checkpoint: checkpoints take one image, and anyone can upload one. */
const checkpoint: RunwareModel = { input: "seed" };

export const runwareModel = (model: string): RunwareModel =>
  models.find(([name]) => name.test(model))?.[1] ?? checkpoint;
