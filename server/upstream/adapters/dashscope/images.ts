/** Images from Alibaba's Model Studio: some models respond at once, others return an operation that is polled. */
import type {
  ImageAdapter,
  ImageRequestContext,
  PendingOperation,
  ReadImages,
  UpstreamRequest,
} from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageResponse,
  ImageResult,
  Target,
  Upstream,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { isUsage } from "../openai/images.ts";
import { asDataUrl, bearer, imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { imageContentIn, revised } from "../wire/image-list.ts";
import { listOf, memberOf, objectOf, textIn } from "../wire/members.ts";
import { toMappedError } from "../wire/native-errors.ts";
import { operationIdOf } from "../wire/operations.ts";
import { meaningOfOperation } from "./errors.ts";
import { dashscopeFamily } from "./families.ts";

/** Singapore. Beijing is https://dashscope.aliyuncs.com/api/v1, with separate API keys. */
export const dashscopeUrl = "https://dashscope-intl.aliyuncs.com/api/v1";

/** A configured base URL may be that of the OpenAI-compatible API. */
export const dashscopeRoot = (upstream: Upstream): string =>
  (upstream.baseUrl ?? dashscopeUrl).replace(/\/compatible-mode\/v1$/, "/api/v1");

/** Options next to the prompt of an operation; all others are parameters. */
const promptOptions = ["negative_prompt", "ref_img", "function"] as const;

function buildRequest(
  query: GenerationQuery,
  { upstream, model }: Target,
  images: readonly unknown[],
  edit?: EditQuery,
): UpstreamRequest {
  const { endpoint } = dashscopeFamily(model);
  const { input, parameters, ...others } = query.extraFields;
  const isChat = endpoint === "messages" || endpoint === "messages-operation";
  const withPrompt = isChat ? [] : promptOptions.filter((name) => others[name] !== undefined);
  const body = {
    model,
    input: {
      ...objectOf(input),
      ...Object.fromEntries(withPrompt.map((name) => [name, others[name]])),
      ...(isChat ? messages(query, model, images) : prompt(query, images, edit, endpoint)),
    },
    parameters: {
      ...objectOf(parameters),
      ...Object.fromEntries(
        Object.entries(others).filter(
          ([name]) => !withPrompt.includes(name as (typeof withPrompt)[0]),
        ),
      ),
      // Without `n`, some models generate, and bill, four images.
      n: query.options.n ?? 1,
      ...sizeOf(query),
    },
  };
  const url = `${dashscopeRoot(upstream)}/services/aigc/${pathOf(endpoint, images.length > 0)}`;
  const request = imageJsonRequest(url, bearer(upstream), body);
  return endpoint === "messages"
    ? request
    : { ...request, headers: { ...request.headers, "x-dashscope-async": "enable" } };
}

function pathOf(endpoint: ReturnType<typeof dashscopeFamily>["endpoint"], edits: boolean): string {
  if (endpoint === "messages") return "multimodal-generation/generation";
  if (endpoint === "messages-operation") return "image-generation/generation";
  return edits ? "image2image/image-synthesis" : "text2image/image-synthesis";
}

/** In every example, Qwen gets the images first and Wan the text. */
function messages(
  { prompt: text }: GenerationQuery,
  model: string,
  images: readonly unknown[],
): ExtraFields {
  const imageParts = images.map((image) => ({ image }));
  const content = model.startsWith("wan") ? [{ text }, ...imageParts] : [...imageParts, { text }];
  return { messages: [{ role: "user", content }] };
}

function prompt(
  { prompt: text, extraFields }: GenerationQuery,
  images: readonly unknown[],
  edit: EditQuery | undefined,
  endpoint: string,
): ExtraFields {
  if (!edit) return { prompt: text };
  if (endpoint !== "masked-operation") return { prompt: text, images };
  const defaultFunction = edit.mask ? "description_edit_with_mask" : "description_edit";
  return {
    prompt: text,
    base_image_url: images[0],
    ...(edit.mask && { mask_image_url: asDataUrl(edit.mask) }),
    // A request can select its other functions, such as colorization, by name.
    function: extraFields.function ?? defaultFunction,
  };
}

/** In the form 1024*1024; names such as 2K are sent unchanged. */
const sizeOf = ({ options: { size } }: GenerationQuery): ExtraFields =>
  size === undefined || size === "auto" ? {} : { size: size.replace("x", "*") };

/** States of an operation that ended without an image. UNKNOWN: it expired, or never existed. */
const ended = new Set(["FAILED", "CANCELED", "UNKNOWN"]);

const read: ReadImages = async (response, context) => {
  const { target, temp } = context;
  const body = await readDocument(response, temp);
  const output = memberOf(body, "output");
  const status = memberOf(output, "task_status");
  const operation = operationIdOf(memberOf(output, "task_id"), context);
  if (typeof status === "string" && status !== "SUCCEEDED" && !ended.has(status)) {
    return { ...pending(memberOf(output, "task_id"), target), ...operation };
  }
  const results = [...imagesInMessages(output, context), ...imagesInResults(output, context)];
  if (results.length > 0) return { kind: "buffered", results, metadata: {}, ...usageIn(body) };
  // The error of an operation is next to its status or in the entry of an image; any other error is next to the output.
  const failure = [output, ...listOf(memberOf(output, "results")), body].find(
    (entry) => textIn(entry, "code") !== undefined,
  );
  if (!failure && typeof status !== "string") throw invalidResponse("it has no image");
  const meaning = meaningOfOperation(textIn(failure, "code") ?? "");
  throw toMappedError(meaning, textIn(failure, "message"), context, response.headers);
};

export const dashscopeGenerations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target, []),
  fromUpstream: read,
};

export const dashscopeEdits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => buildRequest(query, target, query.images.map(asDataUrl), query),
  fromUpstream: read,
};

function pending(id: unknown, { upstream }: Target): PendingOperation {
  // The poll request sends the API key to this URL.
  if (typeof id !== "string" || !/^\w[\w-]*$/.test(id))
    throw invalidResponse("the operation has no id");
  const operation = `${dashscopeRoot(upstream)}/tasks/${id}`;
  const headers = bearer(upstream);
  return {
    kind: "pending",
    poll: { url: operation, headers },
    // dashscope-sdk-python, client/base_api.py: cancel. Works only while the operation is queued.
    cancel: { url: `${operation}/cancel`, headers, method: "POST" },
  };
}

/** output.choices[].message.content[].image. z-image adds the rewritten prompt next to it. */
function imagesInMessages(output: unknown, context: ImageRequestContext): ImageResult[] {
  const rewrites = context.target.model.startsWith("z-image");
  return listOf(memberOf(output, "choices")).flatMap((choice) => {
    const content = listOf(memberOf(memberOf(choice, "message"), "content"));
    const text = content.map((part) => textIn(part, "text")).find(Boolean);
    return content.flatMap((part) =>
      toResult(memberOf(part, "image"), rewrites ? text : undefined, context),
    );
  });
}

/** output.results[].url */
const imagesInResults = (output: unknown, context: ImageRequestContext): ImageResult[] =>
  listOf(memberOf(output, "results")).flatMap((entry) =>
    toResult(memberOf(entry, "url"), memberOf(entry, "actual_prompt"), context),
  );

function toResult(value: unknown, prompt: unknown, context: ImageRequestContext): ImageResult[] {
  const image = imageContentIn(value);
  return image ? [{ image, ...revised(prompt, context) }] : [];
}

/** Models that are billed per image report zeros instead of token counts. */
function usageIn(response: unknown): Pick<Extract<ImageResponse, { kind: "buffered" }>, "usage"> {
  const usage = memberOf(response, "usage");
  if (!isUsage(usage) || usage.total_tokens === 0) return {};
  const { total_tokens, input_tokens, output_tokens } = usage;
  return { usage: { total_tokens, input_tokens, output_tokens } };
}
