/** Images of HF Inference: text or an image in, the bytes of an image out. */
import type { ImageAdapter, ReadImages } from "../../adapter.ts";
import type { EditQuery, ExtraFields, Target } from "../../contract.ts";
import { anyEdges, type ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { readSingleImage } from "../wire/binary-image.ts";
import {
  bearer,
  FileContent,
  imageJsonRequest,
  modelPath,
  onlyFile,
} from "../wire/build-request.ts";
import { edgesOf } from "../wire/edges.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { listOf, memberOf, objectOf } from "../wire/members.ts";

// @huggingface/tasks, text-to-image and image-to-image, spec/input.json: one image per request, of any size; an edit
// takes one image and no mask. The supported sizes depend on the model.
export const huggingfaceImageCapabilities: ImageCapabilities = {
  maxImages: 1,
  takes: {},
  sizes: anyEdges,
  edits: { maxImages: 1 },
};

export const huggingfaceBaseUrl = "https://router.huggingface.co/hf-inference";

const endpointOf = ({ upstream, model }: Target): string =>
  `${upstream.baseUrl ?? huggingfaceBaseUrl}/models/${modelPath(model)}`;

/**
 * @huggingface/inference, providers/hf-inference.ts: the image's bytes or, for some models, a list of base64 texts or
 * links.
 */
const read: ReadImages = (response, context) =>
  readSingleImage(response, context, (body) => {
    const [entry] = listOf(memberOf(body, "data"));
    const image =
      imageContentIn(memberOf(entry, "b64_json")) ??
      imageContentIn(listOf(memberOf(body, "output"))[0]);
    if (image) return image;
    throw invalidResponse("it has no image");
  });

export const huggingfaceGenerations: ImageAdapter = {
  toUpstream: (query, target) =>
    imageJsonRequest(endpointOf(target), bearer(target.upstream), {
      inputs: query.prompt,
      ...parameters(query.extraFields, { ...edgesOf(query) }),
    }),
  fromUpstream: read,
};

export const huggingfaceEdits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { prompt, images, extraFields } = query;
    const target_size = edgesOf(query);
    return imageJsonRequest(endpointOf(target), bearer(target.upstream), {
      inputs: new FileContent(onlyFile(images)),
      ...parameters(extraFields, { prompt, ...(target_size && { target_size }) }),
    });
  },
  fromUpstream: read,
};

/** Clients may send the vendor's options at the top level, or in the vendor's object `parameters`. */
function parameters(extraFields: ExtraFields, ours: ExtraFields): ExtraFields {
  const { parameters: given, ...others } = extraFields;
  const all = { ...others, ...objectOf(given), ...ours };
  return Object.keys(all).length === 0 ? {} : { parameters: all };
}
