/**
 * Builds the entities of a configuration. Each entry is validated and built once: as long as it and the upstreams that
 * it refers to stay the same objects, so does the result.
 */
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { memoize } from "../../lib/memoize.ts";
import type { StoredEntity } from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { kinds } from "../../upstream/kinds.ts";
import { type EntityKind, entityKinds, fileEntry } from "../entities/entity-kinds.ts";
import type { Model, Project, Source, Webhook } from "../snapshot.ts";
import { showUnless } from "../validate/error-messages.ts";
import type { ConfigRows } from "../validate/schema.ts";
import { validateEntry } from "../validate/validate-config.ts";
import {
  type InspectFolder,
  modelProblems,
  upstreamProblems,
  wrongFolder,
} from "../validate/validate-references.ts";
import { buildWebhook } from "../validate/webhooks.ts";
import { withoutNulls } from "../yaml/parse-file.ts";
import type { Note } from "../yaml/problem.ts";
import { configuredModel, provisionedModels } from "./build-models.ts";
import { budgetOf, configuredLimits, endUserAndTagLimitsOf } from "./limits-and-budgets.ts";

/** Stored values do not come from the environment. */
export const show = showUnless(new Set());

type ModelRow = ConfigRows["models"];
type UpstreamRow = ConfigRows["upstreams"];
type Row = ConfigRows[keyof ConfigRows];
type Validated = { readonly row: Row } | { readonly note: Note };

/** A model, or why there is none. */
type ResolvedModel = { readonly model: Model } | { readonly note: Note };

/** The work between two steps, in which other requests are served. An entity that was built before costs little. */
const [workOfStep, workOfBuild] = [1000, 10] as const;

export class EntityBuilder {
  readonly #inspectFolder: InspectFolder;
  readonly #entries = new WeakMap<StoredEntity, Validated>();
  readonly #models = new WeakMap<
    ModelRow,
    { readonly upstreams: readonly Upstream[]; readonly resolved: ResolvedModel }
  >();
  readonly upstreamOf = memoize(buildUpstream);
  readonly projectOf = memoize(buildProject);
  readonly #webhookOf = memoize(buildWebhook);
  readonly provisionedModels = memoize(provisionedModels);
  #work = 0;

  constructor(inspectFolder: InspectFolder = () => []) {
    this.#inspectFolder = inspectFolder;
  }

  /** Looks into the folder of a local model each time: it may have been created or removed since. */
  validate(entity: StoredEntity, kind: EntityKind): Validated {
    let validated = this.#entries.get(entity);
    if (!validated) {
      this.#work += workOfBuild;
      const raw = withoutNulls(fileEntry(kind, entity.id, entity.value));
      const read = validateEntry(entityKinds[kind].list, raw, { show, at: 0 });
      const own =
        kind === "upstream" && "row" in read ? upstreamProblems(read.row as UpstreamRow) : [];
      const [note] = "row" in read ? own : read.notes.map(inEntry);
      validated = note ? { note } : (read as { readonly row: Row });
      this.#entries.set(entity, validated);
    }
    if (kind !== "upstream" || !("row" in validated)) return validated;
    const [note] = wrongFolder(validated.row as UpstreamRow, this.#inspectFolder);
    return note ? { note } : validated;
  }

  modelOf(row: ModelRow, upstreams: ReadonlyMap<string, Upstream>, source: Source): ResolvedModel {
    const used: Upstream[] = [];
    for (const id of upstreamsOf(row)) {
      const upstream = upstreams.get(id);
      if (upstream) used.push(upstream);
    }
    const known = this.#models.get(row);
    if (known && isSame(known.upstreams, used)) return known.resolved;
    this.#work += workOfBuild * row.targets.length;
    const kindOf = {
      get: (id: string) => upstreams.get(id)?.kind,
      keys: () => upstreams.keys(),
    };
    const [note] = modelProblems(row, kindOf, show);
    const resolved = note
      ? { note }
      : { model: deepFreeze(configuredModel(row, upstreams, source)) };
    // The message about a missing upstream suggests a similar name, which may change with the other upstreams.
    if (!note) this.#models.set(row, { upstreams: used, resolved });
    return resolved;
  }

  addWebhook(row: ConfigRows["webhooks"], webhooks: Map<string, Webhook>): Note | undefined {
    const webhook = this.#webhookOf(row);
    if (webhooks.has(webhook.id)) {
      const same = [...webhooks.keys()].indexOf(webhook.id);
      return { path: ["url"], message: `it is the same as webhooks[${same}].url` };
    }
    webhooks.set(webhook.id, webhook);
    return undefined;
  }

  /** Whether other requests should be served now. */
  isStepOver(): boolean {
    this.#work++;
    if (this.#work < workOfStep) return false;
    this.#work = 0;
    return true;
  }
}

function buildUpstream({
  id,
  kind,
  baseUrl,
  apiKey,
  headers,
  limits,
  ...options
}: UpstreamRow): Upstream {
  const url = baseUrl ?? kinds.get(kind)?.baseUrl;
  return deepFreeze({
    id,
    kind,
    ...(url !== undefined && { baseUrl: url }),
    ...(apiKey !== undefined && { apiKey }),
    headers,
    ...configuredLimits(limits),
    options,
  });
}

const buildProject = ({
  name,
  limits,
  budget,
  contact,
  archived,
  ...more
}: ConfigRows["projects"]): Project =>
  deepFreeze({
    name,
    ...(contact !== undefined && { contact }),
    ...(archived && { archived }),
    ...configuredLimits(limits),
    ...budgetOf(budget),
    ...endUserAndTagLimitsOf(more),
  });

function* upstreamsOf(row: ModelRow): Generator<string> {
  for (const { upstream } of row.targets) yield upstream;
  if (row.kind === "image" && row.moderation) yield row.moderation.upstream;
}

const inEntry = ({ path, message }: Note): Note => ({ path: path.slice(2), message });

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, at) => each === other[at]);
