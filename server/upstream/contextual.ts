/**
 * Requests in which the vector of one input depends on the other inputs: late chunking, and models that embed a chunk
 * in the context of its document. No vector of such a request is right for the same text in another request.
 */
import type { ExtraFields } from "./contract.ts";

/**
 * Passthrough fields that make inputs depend on each other, whichever vendor has them: a gateway behind this one may
 * pass them on. Jina joins all inputs into one text with `late_chunking` (api.jina.ai/openapi.json).
 */
const contextOptions = ["late_chunking"] as const;

/** Any value but `false` may switch such a field on: the upstream decides what `"yes"` or `1` means. */
export const hasContextOption = (extraFields: ExtraFields): boolean =>
  contextOptions.some((name) => extraFields[name] !== undefined && extraFields[name] !== false);

/**
 * Like `hasContextOption`, but also finds nested fields: a client may nest vendor options, as in `extra_body`, and a
 * gateway behind this one unpacks them. Walks the whole value, so the caller bounds its size.
 */
export const hasNestedContextOption = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasNestedContextOption);
  return (
    hasContextOption(value as ExtraFields) || Object.values(value).some(hasNestedContextOption)
  );
};

/** voyageai 0.5.0, `contextualized_embed`; perplexityai 0.46.1, `contextualized_embeddings`. */
const contextualName = /(?:^|[/._-])(?:voyage-context|pplx-embed-context)-/i;

/** A model whose every vector depends on the other inputs of the request, by its name at any vendor. */
export const isContextualModel = (model: string): boolean => contextualName.test(model);
