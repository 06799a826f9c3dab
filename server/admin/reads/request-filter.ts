/** The filters of request lists and of the live tail, as query parameters. */
import { z } from "zod";
import { isRefused } from "../../../contract/errors.ts";
import { internalName } from "../../auth/authenticate.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import type { LedgerListQuery, ValueRange } from "../../storage/ports/ledger-queries.ts";
import type { KeyStore } from "../../storage/sql/key-store.ts";
import { tagsOf } from "../../storage/sql/labels.ts";
import type { Actor } from "../actor.ts";

import type { KeyNames } from "./key-names.ts";

/** The filters that also apply to a request that has just ended. */
export type RequestFilter = Omit<LedgerListQuery, "from" | "to" | "requestId" | "cursor" | "limit">;

export const text = (description: string) => z.string().max(300).optional().describe(description);

export const projectText = text("The name of a project.");

const number = (description: string) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,12})?$/, "it must be a number that is not negative")
    .transform(Number)
    .optional()
    .describe(description);

export const time = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .max(40)
    .transform((value) => Date.parse(value))
    .optional()
    .describe(description);

/** The filters that /usage has as well. */
export const ownerFilters = {
  key: text("The id or the name of an API key."),
  project: projectText,
  model: text("The id of a model."),
  target: text("An upstream, or a target such as `openai/text-embedding-3-small`."),
  tag: text("A tag such as `team:search`."),
  end_user: z
    .string()
    .max(1000)
    .optional()
    .describe("The end user, as the client sent it or as the ledger has it."),
  created_by: text(
    "The id of a user: only requests with the API keys that this user created, and the user's own in the playgrounds.",
  ),
  internal: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: with the requests of the gateway itself, which are left out by default."),
};

export const requestFilters = {
  ...ownerFilters,
  status: z
    .string()
    .regex(
      /^(?:ok|error|refused|failed|[1-5]xx|[1-5]\d\d)$/,
      "it must be ok, error, refused, failed, a class such as 5xx, or a status",
    )
    .optional()
    .describe(
      "`ok`, `error`, which is `refused` or `failed`, a class such as `5xx`, or an HTTP status.",
    ),
  error: text("An error kind of docs/errors.md."),
  min_cost: number("US dollars."),
  max_cost: number("US dollars."),
  min_latency_ms: number("Milliseconds."),
  max_latency_ms: number("Milliseconds."),
};

type RequestFilterQuery = z.output<z.ZodObject<typeof requestFilters>>;

type OwnerFilterQuery = Pick<RequestFilterQuery, keyof typeof ownerFilters>;

/** Finds what the names of a filter stand for. */
interface FilterNames {
  readonly keyNames: Pick<KeyNames, "idOf">;
  /** The end user as in the ledger. */
  readonly endUserOf: (given: string) => string;
  readonly keys: Pick<KeyStore, "idsCreatedBy">;
}

/** Of the keys that one user created, the latest. */
const maxKeysOfUser = 10_000;

/** The actor's projects are part of the filter, so that a page never contains another project's requests. */
export async function ownerFilter(
  { key, created_by: creator, project, model, target, tag, end_user, internal }: OwnerFilterQuery,
  { projects }: Actor,
  { keyNames: { idOf }, endUserOf, keys }: FilterNames,
): Promise<RequestFilter> {
  const slash = target?.indexOf("/") ?? -1;
  const isInternal = internal === "true" || [key, project].includes(internalName);
  return {
    ...(!isInternal && { exceptProject: internalName }),
    ...(key !== undefined && { keyId: await idOf(key) }),
    ...(creator !== undefined && {
      // Requests in the playgrounds have the id of the user instead of a key's.
      keyIds: [creator, ...(await keys.idsCreatedBy(creator, maxKeysOfUser))],
    }),
    ...(project !== undefined && { project }),
    ...(model !== undefined && { model }),
    ...(target !== undefined && { upstream: slash < 0 ? target : target.slice(0, slash) }),
    ...(target !== undefined && slash >= 0 && { targetModel: target.slice(slash + 1) }),
    ...(tag !== undefined && { tag }),
    ...(end_user !== undefined && { endUser: endUserOf(end_user) }),
    ...(projects !== null && { projects }),
  };
}

export async function requestFilter(
  given: RequestFilterQuery,
  actor: Actor,
  names: FilterNames,
): Promise<RequestFilter> {
  const { status, error } = given;
  const cost = rangeOf(given.min_cost, given.max_cost);
  const latencyMs = rangeOf(given.min_latency_ms, given.max_latency_ms);
  return {
    ...(await ownerFilter(given, actor, names)),
    ...(error !== undefined && { error }),
    ...(cost && { cost }),
    ...(latencyMs && { latencyMs }),
    ...statusFilter(status),
  };
}

const rangeOf = (min?: number, max?: number): ValueRange | undefined =>
  min === undefined && max === undefined ? undefined : { min, max };

function statusFilter(
  status: string | undefined,
): Pick<RequestFilter, "status" | "failed" | "refused"> {
  if (status === undefined) return {};
  if (status === "refused") return { refused: true };
  if (status === "failed") return { failed: true, refused: false };
  if (status === "ok" || status === "error") return { failed: status === "error" };
  const isClass = status.endsWith("xx");
  const min = Number(status.replace("xx", "00"));
  return { status: { min, max: isClass ? min + 99 : min } };
}

/**
 * Whether a request that has ended matches. Runs for every request while there are viewers, so it allocates nothing.
 */
export function matchesRecord(filter: RequestFilter, record: RequestRecord): boolean {
  const { caller, routing, outcome, knownCost } = record;
  const project = caller?.project;
  return (
    isEqual(filter.keyId, caller?.id) &&
    (!filter.keyIds || (caller !== undefined && filter.keyIds.includes(caller.id))) &&
    isEqual(filter.project, project) &&
    (filter.exceptProject === undefined || filter.exceptProject !== project) &&
    (!filter.projects || (project !== undefined && filter.projects.includes(project))) &&
    isEqual(filter.model, record.model) &&
    isEqual(filter.upstream, routing.target?.upstream.id) &&
    isEqual(filter.targetModel, routing.target?.model) &&
    (filter.tag === undefined || tagsOf(record).includes(filter.tag)) &&
    isEqual(filter.endUser, record.endUser ?? undefined) &&
    (filter.failed === undefined || filter.failed === (outcome.error !== undefined)) &&
    (filter.refused === undefined ||
      filter.refused === isRefused(outcome.error, routing.attempts)) &&
    isEqual(filter.error, outcome.error) &&
    isWithin(filter.status, outcome.status) &&
    isWithin(filter.latencyMs, outcome.latencyMs) &&
    isWithin(filter.cost, knownCost)
  );
}

const isEqual = (required: string | null | undefined, value: string | undefined): boolean =>
  required === undefined || required === (value ?? null);

const isWithin = (range: ValueRange | undefined, value: number | undefined): boolean =>
  !range ||
  (value !== undefined &&
    value >= (range.min ?? Number.NEGATIVE_INFINITY) &&
    value <= (range.max ?? Number.POSITIVE_INFINITY));
