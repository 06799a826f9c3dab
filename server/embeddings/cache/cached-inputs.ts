/** The embedding cache for requests that do not pass the cache stage: those that the batch of a vendor runs. */
import type { PermittedModel } from "../../request/caller.ts";
import type { Stage } from "../../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../upstream/contract.ts";
import { tokensPerInput } from "../embedding-usage.ts";
import { itemsOf, unsplittableReason } from "../split.ts";
import { cacheKey, cacheKeyPrefix } from "./cache-key.ts";
import type { CacheStageOptions } from "./cache-stage.ts";

type CacheOptions = Pick<CacheStageOptions, "cache" | "enabled" | "taskTypesTranslated">;

/** Undefined if the request is not cached. */
function keysOf(
  { enabled, taskTypesTranslated }: CacheOptions,
  query: EmbeddingsQuery,
  model: PermittedModel,
): readonly string[] | undefined {
  if (!enabled(model) || unsplittableReason(query, model)) return undefined;
  const isTranslated = query.taskType !== undefined && taskTypesTranslated?.(model) === true;
  const prefix = cacheKeyPrefix(query, model, isTranslated);
  return Array.from({ length: itemsOf(query.input) }, (_, at) => cacheKey(prefix, query.input, at));
}

/** Whether every input is cached. */
export const isCached = (
  options: CacheOptions,
  query: EmbeddingsQuery,
  model: PermittedModel,
): boolean => keysOf(options, query, model)?.every((key) => options.cache.has(key)) ?? false;

/** Stores the vectors of every response in the cache. */
export const fillCache =
  (options: CacheOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  async (request) => {
    const { query, model } = request;
    request.report.addSentInputs(itemsOf(query.input));
    const response = await next(request);
    const { vectors, usage } = response;
    const keys = keysOf(options, query, model) ?? [];
    const tokens = usage && keys.length > 0 ? tokensPerInput(usage, query.input) : [];
    await options.cache.setAll(keys, vectors, tokens);
    return response;
  };
