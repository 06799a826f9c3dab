/** A request to a model that costs little, as an example. */
import type { ShownModel } from "../../../../contract/admin.ts";
import { FileContent, type SampleRequest } from "../../lib/code-samples.ts";

export const baseUrl = (): string => `${location.origin}/v1`;

export function sampleRequest(model: ShownModel): SampleRequest {
  const text = "a red boat";
  return model.kind === "embedding"
    ? {
        baseUrl: baseUrl(),
        endpoint: "embeddings",
        body: {
          model: model.id,
          input: model.reads_images ? [text, { image: new FileContent("boat.png") }] : text,
        },
      }
    : {
        baseUrl: baseUrl(),
        endpoint: "images/generations",
        body: { model: model.id, prompt: "a red boat on a calm sea at sunset" },
      };
}
