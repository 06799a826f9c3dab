/** xAI: OpenAI's paths, aspect ratios instead of sizes, and edits in JSON. The response reports the cost. */
import type { ImageAdapter, ReadImages, Vendor } from "../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target, Upstream } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { resolutionOf } from "../image-sizes.ts";
import { asDataUrl, bearer, imageJsonRequest } from "./wire/build-request.ts";
import { readImageList, revised } from "./wire/image-list.ts";
import { memberOf } from "./wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "./wire/native-errors.ts";

const baseUrl = "https://api.x.ai/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// xai-sdk 1.21.0, ImageAspectRatio; docs.comfy.org's copy of xAI's schema has the same thirteen.
const ratios = [
  "1:1",
  "3:4",
  "4:3",
  "9:16",
  "16:9",
  "2:3",
  "3:2",
  "9:19.5",
  "19.5:9",
  "9:20",
  "20:9",
  "1:2",
  "2:1",
];

/**
 * docs.x.ai/developers/rest-api-reference/inference/images: `quality` is low, medium or high. By model, docs.comfy.org:
 * 2.0 takes `low` and `medium` (xai-sdk 1.21.0, ImageQuality, has only these), earlier models ignore it.
 */
const tiers: readonly (readonly [RegExp, readonly string[] | undefined])[] = [
  [/imagine-image-2\b/, ["low", "medium"]],
  [/imagine-image(-pro|-quality)?(-latest|-\d{4}-?\d\d-?\d\d)?$/, undefined],
  [/grok-2-image/, undefined],
];

const qualityOf = (model: string): Pick<ImageCapabilities["takes"], "quality"> => {
  const known = tiers.find(([name]) => name.test(model));
  const quality = known ? known[1] : ["low", "medium", "high"];
  return quality ? { quality } : {};
};

// docs.x.ai/developers/model-capabilities/images: ten images per request, three input images; xai-proto, image.proto:
// 10 MiB each.
const imageCapabilities = ({ model }: Target): ImageCapabilities => ({
  maxImages: 10,
  takes: { ...qualityOf(model), response_format: ["url", "b64_json"], user: "any" },
  // The vendor's guide on `size` of grok-2-image: "Not supported", as quoted in open-webui's discussion 12116. No
  // source on its aspect ratios and edits was found, so neither is sent.
  sizes: /grok-2-image/.test(model) ? { list: [] } : { ratios },
  ...(!/grok-2-image/.test(model) && { edits: { maxImages: 3, maxBytes: 10 * 1024 * 1024 } }),
});

/** xai-sdk 1.21.0, ImageResolution: 1k (the default) or 2k. There is no 4k: a larger size gets 2k. */
const resolutionFor = (query: GenerationQuery): ExtraFields =>
  resolutionOf(query) === "1K" ? {} : { resolution: "2k" };

function fieldsOf(query: GenerationQuery, { model }: Target): ExtraFields {
  const { extraFields, prompt, aspectRatio: aspect, options } = query;
  return {
    ...resolutionFor(query),
    ...extraFields,
    model,
    prompt,
    n: options.n,
    quality: options.quality,
    user: options.user,
    // Links are valid for an unknown, short time: a client that did not request one gets the image itself.
    response_format: options.response_format ?? "b64_json",
    ...(aspect !== undefined && { aspect_ratio: aspect }),
  };
}

/** docs.x.ai/developers/cost-tracking. */
const ticksPerDollar = 10_000_000_000;

const fromUpstream: ReadImages = (response, context) =>
  readImageList(response, context, {
    // @ai-sdk/xai, XaiImageModel: such an entry has no image, or a placeholder.
    isWithheld: (entry) => memberOf(entry, "respect_moderation") === false,
    entryFields: (entry) => revised(memberOf(entry, "revised_prompt"), context),
    responseFields: (body) => {
      const spent = memberOf(memberOf(body, "usage"), "cost_in_usd_ticks");
      return typeof spent === "number" && spent >= 0 ? { cost: spent / ticksPerDollar } : {};
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

/** docs.x.ai/developers/model-capabilities/images/editing: JSON only, one source as `image`, several as `images`. */
const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const sources = query.images.map((source) => ({ type: "image_url", url: asDataUrl(source) }));
    const { upstream } = target;
    return imageJsonRequest(`${baseUrlOf(upstream)}/images/edits`, bearer(upstream), {
      ...fieldsOf(query, target),
      ...(sources.length === 1 ? { image: sources[0] } : { images: sources }),
    });
  },
  fromUpstream,
};

/**
 * `{code, error}`. A wrong key is 400: github.com/openai/codex/issues/1352. No credit is 403 or 429, and names the
 * team: both as recorded by several users.
 */
function classify({ message, body }: VendorError): ErrorMeaning | undefined {
  const code = memberOf(body, "code");
  if (code === "imagine:content-moderated" || /content moderation/i.test(message))
    return "moderated";
  if (/incorrect api key/i.test(message)) return "wrong key";
  if (/available credits|spending limit|doesn't have any credits/i.test(message))
    return "no credit";
  return /\bmodel\b.*\b(does not exist|not found)\b/i.test(message) ? "no such model" : undefined;
}

export const xai: Vendor = {
  kind: { name: "xai", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    // The `code` is a sentence. Messages about accounts name the account, so clients do not get them.
    readError: nativeErrorReader({ classify }),
  },
};
