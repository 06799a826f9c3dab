/**
 * Attribution: the tags of a request, from the header `vexel-tags` and from `metadata`, and its end user, from
 * `safety_identifier` and `user`. The end user is stored as a keyed hash unless the operator chose names.
 */
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { ExtraFields, ImageOptions } from "../upstream/contract.ts";
import { withEndUserAndTagLimits } from "./end-user-and-tag-limits.ts";

const tagsHeader = "vexel-tags";

const maxTags = 10;
const maxTagLength = 100;
/** No comma, which separates tags, and no parentheses, which the usage of all other tags has. */
const tagPattern = /^[\w.:/@=+-]+(?: [\w.:/@=+-]+)*$/;
const rule = `up to ${maxTags} tags such as 'team' or 'team:search', each with up to ${maxTagLength} letters, digits, inner spaces and the characters _ . : / @ = + -`;

/** Longer names, and names with control characters, are hashed in any case. */
const storedName = /^[^\p{Cc}]{1,128}$/u;
const hashed = /^eu_[0-9a-f]{24}$/;

/** The part of a query that names tags and the end user. */
export interface AttributedQuery {
  /** Embeddings. */
  readonly user?: string;
  /** Images. */
  readonly options?: Pick<ImageOptions, "user" | "safety_identifier">;
  readonly extraFields?: ExtraFields;
}

interface AttributionOptions {
  readonly endUsers: "hashed" | "plain";
  /** Keyed: only this gateway can compute it. Hexadecimal. */
  readonly hash: (text: string) => string;
  /** Reads what these owners have spent. Undefined if there is nothing to wait for. */
  readonly loadBudgets: (owners: readonly BudgetedOwner[], at: number) => Promise<void> | undefined;
}

export class Attribution {
  readonly #options: AttributionOptions;

  constructor(options: AttributionOptions) {
    this.#options = options;
  }

  /**
   * Sets the tags and the end user of the record, and names the metadata that cannot be tags. Returns the extra fields
   * for the upstream; undefined: all of them. The metadata of a job stays with the job (`isJob`). Throws GatewayError.
   */
  attribute(
    record: Pick<RequestRecord, "tags" | "endUser" | "deviations">,
    header: string | null,
    query: AttributedQuery,
    isJob: boolean,
  ): ExtraFields | undefined {
    const { metadata } = query.extraFields ?? {};
    const isTagged = metadata !== undefined && !isJob;
    const { tags, dropped } = isTagged ? metadataTags(metadata) : noTags;
    record.tags = textOf([...tagsOf(header), ...tags]);
    if (dropped.length > 0) record.deviations = { dropped };
    const name = namedIn(query);
    if (name !== undefined) record.endUser = this.#stored(name);
    return isJob ? undefined : upstreamFields(query.extraFields);
  }

  /**
   * The caller with the limits and budgets of the end user and the tags of the record. A promise: what they have spent
   * is read first.
   */
  limit(
    caller: Caller,
    record: Pick<RequestRecord, "tags" | "endUser" | "at">,
    { projects }: Pick<Snapshot, "projects">,
  ): Caller | Promise<Caller> {
    const project = projects?.get(caller.project ?? "");
    if (!project?.perEndUser && !project?.perTag) return caller;
    const limited = withEndUserAndTagLimits(caller, record, project);
    const loading = this.#options.loadBudgets(limited.budgets ?? [], record.at);
    return loading ? loading.then(() => limited) : limited;
  }

  /** The end user as in the ledger. `given`: as the client sent it, or as in the ledger. */
  endUserOf(given: string): string {
    return hashed.test(given) ? given : this.#stored(given);
  }

  #stored(name: string): string {
    const { endUsers, hash } = this.#options;
    const isStored = endUsers === "plain" && storedName.test(name);
    return isStored ? name : `eu_${hash(name).slice(0, 24)}`;
  }
}

/**
 * Without `metadata`, and without the `safety_identifier` of embeddings: no upstream has them, and OpenAI refuses them.
 * Image requests have a `safety_identifier` of their own, which is passed on. Undefined if there is nothing to leave
 * out.
 */
export function upstreamFields(given: ExtraFields = {}): ExtraFields | undefined {
  const { metadata, safety_identifier, ...others } = given;
  const isNamed = typeof safety_identifier === "string";
  if (metadata === undefined && !isNamed) return undefined;
  return isNamed || safety_identifier === undefined ? others : { ...others, safety_identifier };
}

/** As for OpenAI, a `safety_identifier` that is not empty takes precedence over `user`. */
function namedIn({ user, options, extraFields }: AttributedQuery): string | undefined {
  const names = [options?.safety_identifier, extraFields?.safety_identifier, options?.user, user];
  return names.find((name): name is string => typeof name === "string" && name !== "");
}

function tagsOf(header: string | null): readonly string[] {
  if (header === null || header.trim() === "") return [];
  const tags = header.split(",", maxTags + 1).map((tag) => tag.trim());
  if (tags.length <= maxTags && tags.every(isTag)) return tags;
  throw new GatewayError(
    "invalid_value",
    `Invalid value of the header '${tagsHeader}': expected ${rule}, separated by commas.`,
    { param: tagsHeader },
  );
}

interface MetadataTags {
  readonly tags: readonly string[];
  /** The fields that are not, or not only, tags. */
  readonly dropped: readonly string[];
}

const noTags: MetadataTags = { tags: [], dropped: [] };

/**
 * The pairs of `metadata`, and the tags in its list `tags`, as LiteLLM's clients send them. Clients send metadata of
 * any kind to other gateways: what cannot be a tag is left out, and the request is served.
 */
function metadataTags(metadata: unknown): MetadataTags {
  if (metadata === null) return noTags;
  if (typeof metadata !== "object" || Array.isArray(metadata))
    return { tags: [], dropped: ["metadata"] };
  const tags = new Set<string>();
  const dropped = new Set<string>();
  for (const [name, tag] of Object.entries(metadata).flatMap(possibleTags)) {
    if (isTag(tag) && (tags.size < maxTags || tags.has(tag))) tags.add(tag);
    else dropped.add(dropped.size < maxDropped ? fieldName(name) : "metadata");
  }
  return { tags: [...tags], dropped: [...dropped] };
}

/** Each with the name of its pair. */
function possibleTags([name, value]: [string, unknown]): [string, unknown][] {
  if (name === "tags" && Array.isArray(value)) return value.map((tag) => [name, tag]);
  return [[name, typeof value === "string" ? `${name}:${value}` : value]];
}

/** The response names as many fields, and then `metadata`. */
const maxDropped = 20;
/** A name that a header cannot have is not repeated. */
const fieldName = (name: string): string =>
  /^[\w.:/@=+-]{1,64}$/.test(name) ? `metadata.${name}` : "metadata";

const isTag = (tag: unknown): tag is string =>
  typeof tag === "string" && tag.length <= maxTagLength && tagPattern.test(tag);

/** Both sources together have at most twice the tags of one. */
const textOf = (tags: readonly string[]): string | null =>
  tags.length === 0 ? null : [...new Set(tags)].join(",");
