/**
 * Whether the inputs of a request depend on each other. Such a request is one unit: no stage may cache its vectors,
 * remove duplicates from it, share it with other requests, add other inputs to it, or split it.
 */
import { isEmpty } from "../lib/is-empty.ts";
import type { Route } from "../request/caller.ts";
import { asksForContext } from "../upstream/contextual.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";

export const inputsDependOnEachOther = (
  { rest }: Pick<EmbeddingsQuery, "rest">,
  { contextual }: Pick<Route, "contextual">,
): boolean => contextual === true || (!isEmpty(rest) && asksForContext(rest));
