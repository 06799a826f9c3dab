/**
 * Recraft: nearly OpenAI-compatible generations, with aspect ratios for sizes; edits have their own paths and forms.
 */
import type { ImageAdapter, ReadImages, Vendor } from "../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  Target,
  Upstream,
} from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import {
  bearer,
  bearerRequest,
  fieldParts,
  imageFormRequest,
  imageJsonRequest,
  onlyFile,
  type Part,
} from "./wire/build-request.ts";
import { createdIn, readImageList, revised } from "./wire/image-list.ts";
import { codeIn, extraFieldsOf, isCount, memberOf } from "./wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "./wire/native-errors.ts";

const baseUrl = "https://external.api.recraft.ai/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// recraft.ai/docs/api-reference/appendix: every model supports these aspect ratios, each with its own pixel sizes.
const ratios = [
  "1:1",
  "2:1",
  "1:2",
  "3:2",
  "2:3",
  "4:3",
  "3:4",
  "5:4",
  "4:5",
  "6:10",
  "14:10",
  "10:14",
  "16:9",
  "9:16",
];

/** These models always return SVG. */
const isVector = (model: string): boolean => /_vector$/.test(model);

// recraft.ai/docs/api-reference/usage: six images per request; 10,000 characters since V4, 1,000 before; input images
// of 10 MB.
function imageCapabilities({ model }: Target, operation: ImageOperation): ImageCapabilities {
  return {
    maxImages: 6,
    takes: {
      response_format: ["url", "b64_json"],
      output_format: isVector(model) ? ["svg"] : ["png", "webp"],
    },
    // An edited image keeps its size.
    sizes: operation === "edits" ? { list: [] } : { ratios },
    maxPrompt: /^recraftv[23](_|$)/.test(model) ? 1000 : 10_000,
    edits: {
      maxImages: 1,
      // The same page: only V3 inpaints, where the mask is white.
      ...(!/^recraftv[24]/.test(model) && { mask: "white" as const }),
      maxBytes: 10 * 1024 * 1024,
    },
  };
}

function fieldsOf(
  { extraFields, prompt, aspectRatio: aspect, options }: GenerationQuery,
  { model }: Target,
): ExtraFields {
  const { n, output_format, response_format = "b64_json" } = options;
  return {
    ...extraFields,
    model,
    prompt,
    n,
    // Its links are valid for a day: a client that did not request one gets the image itself.
    response_format,
    ...(aspect !== undefined && { size: aspect }),
    ...(!isVector(model) && { image_format: output_format }),
  };
}

/** Recraft requires a strength for edits without a mask: from 0, nearly identical, to 1, minimal similarity. */
const defaultStrength = 0.5;

/** recraft.ai/docs/api-reference/pricing: "1,000 API units" are a dollar. */
const unitsPerDollar = 1000;

const fromUpstream: ReadImages = (response, context) =>
  readImageList(response, context, {
    entryFields: (entry) => ({
      ...revised(memberOf(entry, "revised_prompt"), context),
      ...extraFieldsOf(entry, ["image_id"]),
    }),
    responseFields: (body) => {
      const credits = memberOf(body, "credits");
      return {
        ...createdIn(body),
        ...(isCount(credits) && { cost: credits / unitsPerDollar }),
      };
    },
  });

const generations: ImageAdapter = {
  toUpstream: (query, target) =>
    imageJsonRequest(
      `${baseUrlOf(target.upstream)}/images/generations`,
      bearer(target.upstream),
      fieldsOf(query, target),
    ),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { images, mask } = query;
    const fields = fieldsOf(query, target);
    const parts: Part[] = [
      ...fieldParts(mask ? fields : { strength: defaultStrength, ...fields }),
      { name: "image", file: onlyFile(images) },
      ...(mask ? [{ name: "mask", file: onlyFile([mask]) }] : []),
    ];
    const path = mask ? "inpaint" : "imageToImage";
    const { upstream } = target;
    return imageFormRequest(`${baseUrlOf(upstream)}/images/${path}`, bearer(upstream), parts);
  },
  fromUpstream,
};

/** `{code, message}`. Its documentation does not list the codes: these are from user reports. */
function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  const code = codeIn(body, "code");
  if (code === "prompt_is_improper" || /content filter/i.test(message)) return "moderated";
  if (status === 402 || /not[_ ]enough[_ ](credits|units)/i.test(`${code} ${message}`)) {
    return "no credit";
  }
  return /\bmodel\b.*\b(unknown|invalid|not (found|supported))|\b(unknown|invalid)\b.*\bmodel\b/i.test(
    message,
  )
    ? "no such model"
    : undefined;
}

export const recraft: Vendor = {
  kind: { name: "recraft", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    // /v1/users/me: the account and its remaining credits.
    probe: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/users/me`, upstream),
    readError: nativeErrorReader({ classify }),
  },
};
