/** Lists with OpenAI's cursor: the id of the last entry is `after` of the next page. */
import type { IncomingRequest } from "../request/http-types.ts";

/** `entries`: one more than `limit` if there is another page. */
export function showPage<T extends { readonly id: string }>(entries: readonly T[], limit: number) {
  const data = entries.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: entries.length > limit,
  };
}

/** The query parameters of a request. */
export const queryOf = ({ search }: IncomingRequest): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(search));
