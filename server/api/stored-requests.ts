/** What the handlers of stored objects share: the caller of a request, its JSON body, and pages of a list. */
import { z } from "zod";
import { authenticate } from "../auth/authenticate.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { bodyWithoutNulls, validate } from "../http/read-body.ts";
import type { Caller } from "../request/caller.ts";
import type { IncomingRequest } from "../request/http-types.ts";

export interface AuthenticationOptions {
  readonly snapshot: () => Snapshot;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The returned function throws GatewayError. */
export const createCallerOf =
  ({ snapshot, now }: AuthenticationOptions) =>
  ({ headers }: IncomingRequest): Caller =>
    authenticate(headers, snapshot(), now());

/** Throws GatewayError. */
export async function readStoredBody<S extends z.ZodType>(
  incoming: IncomingRequest,
  caller: Caller,
  schema: S,
): Promise<z.output<S>> {
  try {
    return validate(schema, bodyWithoutNulls(await incoming.json(caller.id)));
  } finally {
    incoming.releaseBody();
  }
}

/** The most entries of a page, as at OpenAI. Lists of files have their own. */
export const maxEntries = 100;

/** OpenAI's cursor: the id of the last entry of a page is `after` of the next one. */
export const pageQuery = z.object({
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(maxEntries).default(20),
});

export function showPage<T extends { readonly id: string }>(data: readonly T[], hasMore: boolean) {
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** The query parameters of a request. */
export const queryOf = ({ search }: IncomingRequest): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(search));
