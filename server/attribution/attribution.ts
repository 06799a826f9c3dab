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
import { withLabelLimits } from "./label-limits.ts";

export const tagsHeader = "vexel-tags";

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

export interface AttributionOptions {
  readonly endUsers: "hashed" | "plain";
  /** Keyed: only this gateway can compute it. Hexadecimal. */
  readonly hash: (text: string) => string;
  /** Reads what these owners have spent. Undefined: there is nothing to wait for. */
  readonly loadBudgets: (owners: readonly BudgetedOwner[], at: number) => Promise<void> | undefined;
}

export class Attribution {
  readonly #options: AttributionOptions;

  constructor(options: AttributionOptions) {
    this.#options = options;
  }

  /**
   * Sets the tags and the end user of the record. Returns the extra fields without `metadata`, which no upstream gets;
   * undefined: there is none. The metadata of a job stays with the job (`isJob`). Throws GatewayError.
   */
  attribute(
    record: Pick<RequestRecord, "tags" | "endUser">,
    header: string | null,
    query: AttributedQuery,
    isJob: boolean,
  ): ExtraFields | undefined {
    const { metadata, ...extraFields } = query.extraFields ?? {};
    const isTagged = metadata !== undefined && !isJob;
    record.tags = textOf([...tagsOf(header), ...(isTagged ? metadataTags(metadata) : [])]);
    const name = namedIn(query);
    if (name !== undefined) record.endUser = this.#stored(name);
    return isTagged ? extraFields : undefined;
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
    const limited = withLabelLimits(caller, record, project);
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

function metadataTags(metadata: unknown): readonly string[] {
  const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  const pairs = isObject ? Object.entries(metadata) : [];
  const tags = pairs.map(([name, value]) => (typeof value === "string" ? `${name}:${value}` : ""));
  if (isObject && tags.length <= maxTags && tags.every(isTag)) return tags;
  throw new GatewayError(
    "invalid_value",
    `Invalid 'metadata': expected an object of strings whose pairs are ${rule}. In a form, send the header '${tagsHeader}' instead.`,
    { param: "metadata" },
  );
}

const isTag = (tag: string): boolean => tag.length <= maxTagLength && tagPattern.test(tag);

/** Both sources together have at most twice the tags of one. */
const textOf = (tags: readonly string[]): string | null =>
  tags.length === 0 ? null : [...new Set(tags)].join(",");
