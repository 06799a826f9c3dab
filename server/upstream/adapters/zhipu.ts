/** Zhipu's BigModel: OpenAI-compatible embeddings and nearly OpenAI-compatible images, returned as links only. */
import type {
  ImageAdapter,
  ImageRequestContext,
  PendingOperation,
  ReadImages,
  Vendor,
} from "../adapter.ts";
import type { BufferedImageResponse, ExtraFields, Target, Upstream } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { bearer, imageJsonRequest } from "./wire/build-request.ts";
import { readDocument } from "./wire/document.ts";
import { createdIn, imageListIn } from "./wire/image-list.ts";
import { codeIn, extraFieldsOf, memberOf } from "./wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, toMappedError } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";
import { isRouted, operationIdOf, pollRequest, stillPending } from "./wire/operations.ts";

const baseUrl = "https://open.bigmodel.cn/api/paas/v4";

/** docs.bigmodel.cn/api-reference/模型-api/图像生成: CogView's rules apply to every model except GLM-Image. */
function imageCapabilities({ model }: Target): ImageCapabilities {
  const userOptions = { user: "any", safety_identifier: "any" } as const;
  return /^glm-image/i.test(model)
    ? {
        maxImages: 1,
        userLength,
        takes: { ...userOptions, quality: ["hd"] },
        // The page recommends edges from 1024, but one of its own examples is 960x1728.
        sizes: { rule: { multipleOf: 32, minEdge: 512, maxEdge: 2048, maxPixels: 2 ** 22 } },
      }
    : {
        maxImages: 1,
        userLength,
        takes: { ...userOptions, quality: ["standard", "hd"] },
        sizes: { rule: { multipleOf: 16, minEdge: 512, maxEdge: 2048, maxPixels: 2 ** 21 } },
      };
}

/** The same page. OpenAI's clients may send any length. */
const userLength = { min: 6, max: 128 } as const;

const userId = (user: string | undefined): ExtraFields =>
  user === undefined ? {} : { user_id: user.padEnd(userLength.min, "-").slice(0, userLength.max) };

const read: ReadImages = async (response, context) => {
  const body = await readDocument(response, context.temp);
  const status = memberOf(body, "task_status");
  if (status !== undefined) return readTask(body, status, context);
  return imageListIn(body, context, {
    responseFields: () => ({
      ...createdIn(body),
      ...extraFieldsOf(body, ["content_filter"]),
    }),
  });
};

/** huggingface_hub 2.4.0, _providers/zai_org.py: Hugging Face's router has only the asynchronous API. */
function readTask(
  task: unknown,
  status: unknown,
  context: ImageRequestContext,
): BufferedImageResponse | PendingOperation {
  const { upstream } = context.target;
  if (status === "SUCCESS") return imageListIn(task, context, { list: "image_result" });
  if (status !== "PROCESSING") throw toMappedError(undefined, undefined, context);
  const id = memberOf(task, "id");
  if (context.operationId !== undefined) return { ...stillPending, ...operationIdOf(id, context) };
  if (typeof id !== "string") throw invalidResponse("it has no `id`");
  const url = `${upstream.baseUrl ?? baseUrl}/async-result/${encodeURIComponent(id)}`;
  return { kind: "pending", operationId: id, poll: pollRequest(url, bearer(upstream)) };
}

const pathOf = (upstream: Upstream): string =>
  isRouted(upstream) ? "async/images/generations" : "images/generations";

const generations: ImageAdapter = {
  toUpstream: ({ extraFields, options, prompt }, { upstream, model }) =>
    imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/${pathOf(upstream)}`, bearer(upstream), {
      ...extraFields,
      model,
      prompt,
      size: options.size,
      quality: options.quality,
      ...userId(options.safety_identifier ?? options.user),
    }),
  fromUpstream: read,
};

// docs.z.ai/api-reference/api-code: codes are texts.
const meanings: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries<ErrorMeaning>({
    1000: "wrong key",
    1001: "wrong key",
    1002: "wrong key",
    1003: "wrong key",
    1004: "wrong key",
    1113: "no credit",
    1211: "no such model",
    1301: "moderated",
  }),
);

export const zhipu: Vendor = fromDialect(
  {
    name: "zhipu",
    baseUrl,
    // docs.bigmodel.cn/api-reference: 64 inputs; only embedding-3 makes shorter vectors.
    embeddings: { ...textOnlyCapabilities, maxItems: 64 },
    models: [[/embedding-3/, { dimensions: [256, 512, 1024, 2048] }]],
  },
  {
    generations,
    imageCapabilities,
    readError: nativeErrorReader({
      classify: ({ body }) => meanings.get(codeIn(memberOf(body, "error"), "code")),
      fallback: readOpenaiError,
    }),
  },
);
