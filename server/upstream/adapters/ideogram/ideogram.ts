/** Ideogram: JSON requests, or a form when there are input images; the response contains links that expire. */
import type { ImageAdapter, ReadImages, Vendor } from "../../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target, Upstream } from "../../contract.ts";
import {
  fieldParts,
  filesOf,
  headersOf,
  imageFormRequest,
  imageJsonRequest,
  type Part,
} from "../wire/build-request.ts";
import { readImageList, revised } from "../wire/image-list.ts";
import { codeIn, extraFieldsOf, memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "../wire/native-errors.ts";
import {
  type IdeogramOperation,
  ideogramFamilyOf,
  ideogramImageCapabilities,
  promptField,
} from "./models.ts";

const baseUrl = "https://api.ideogram.ai";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

const authHeaders = (upstream: Upstream) => headersOf(upstream, (key) => ({ "api-key": key }));

const endpointOf = ({ upstream, model }: Target, operation: IdeogramOperation): string =>
  `${baseUrlOf(upstream)}/${ideogramFamilyOf(model).path(model, operation)}`;

const fieldsOf = (
  query: GenerationQuery,
  { model }: Target,
  operation: IdeogramOperation,
): ExtraFields => ({
  ...query.extraFields,
  [promptField(model)]: query.prompt,
  ...ideogramFamilyOf(model).fields(query, model, operation),
});

/** The oldest API wraps its fields in an object, except for inpainting. */
const isWrapped = ({ model }: Target, operation: IdeogramOperation): boolean =>
  ideogramFamilyOf(model).image === "image_file" && operation !== "fill";

const fromUpstream: ReadImages = (response, context) =>
  readImageList(response, context, {
    // Its OpenAPI document: "If false, the url field will be empty."
    isWithheld: (entry) => memberOf(entry, "is_image_safe") === false,
    entryFields: (entry) => ({
      ...revised(memberOf(entry, "prompt"), context),
      ...extraFieldsOf(entry, ["seed", "style_type"]),
    }),
    responseFields: (body) => {
      const created = Date.parse(codeIn(body, "created"));
      return Number.isNaN(created) ? {} : { created: Math.floor(created / 1000) };
    },
  });

const generations: ImageAdapter = {
  toUpstream: (query, target) => {
    const fields = fieldsOf(query, target, "generate");
    return imageJsonRequest(
      endpointOf(target, "generate"),
      authHeaders(target.upstream),
      isWrapped(target, "generate") ? { image_request: fields } : fields,
    );
  },
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { images, mask } = query;
    const operation = mask ? "fill" : "change";
    const fields = fieldsOf(query, target, operation);
    const { image } = ideogramFamilyOf(target.model);
    return imageFormRequest(endpointOf(target, operation), authHeaders(target.upstream), [
      ...fieldParts(isWrapped(target, operation) ? { image_request: fields } : fields),
      ...filesOf(images).map((file): Part => ({ name: image, file })),
      ...filesOf(mask ? [mask] : []).map((file): Part => ({ name: "mask", file })),
    ]);
  },
  fromUpstream,
};

/**
 * `{error: "…"}`, with the reason in `reject_reason`. Status 422 is that of the safety check: the same document,
 * GenerateImageSafetyError.
 */
function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  if (status === 402 || memberOf(body, "reject_reason") === "insufficient_funds")
    return "no credit";
  if (status === 422 && /\bsafety\b/i.test(message)) return "moderated";
  // The model is part of the URL.
  return status === 404 ? "no such model" : undefined;
}

export const ideogram: Vendor = {
  kind: { name: "ideogram", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities: ({ model }, operation) => ideogramImageCapabilities(model, operation),
    // The customer's trained models: a list that may be empty.
    probe: (upstream) => ({ url: `${baseUrlOf(upstream)}/models`, headers: authHeaders(upstream) }),
    readError: nativeErrorReader({ classify }),
  },
};
