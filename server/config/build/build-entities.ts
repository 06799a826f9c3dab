/**
 * Builds the entities of a configuration. Each entry is validated and built once: as long as it and the upstreams that
 * it refers to stay the same objects, so does the result.
 */
import { deepFreeze } from "../../lib/deep-freeze.ts";
import type { StoredEntity } from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { type EntityKind, entityKinds, fileEntry } from "../entities/entity-kinds.ts";
import type { Model, Project, Source, Webhook } from "../snapshot.ts";
import type { ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import { type ConfigRows, validateEntry } from "../validate/validate-config.ts";
import { type InspectFolder, modelProblems, wrongFolder } from "../validate/validate-references.ts";
import { buildWebhook } from "../validate/webhooks.ts";
import { withoutNulls } from "../yaml/file-lists.ts";
import type { Note } from "../yaml/problem.ts";
import { configuredModel, provisionedModels } from "./build-models.ts";
import { budgetOf, configuredLimits, endUserAndTagLimitsOf } from "./limits-and-budgets.ts";

type ModelRow = ConfigRows["models"];
type Row = ConfigRows[keyof ConfigRows];
type Validated = { readonly row: Row } | { readonly note: Note };

/** A model, or why there is none. */
type ResolvedModel = { readonly model: Model } | { readonly note: Note };

/** Between two steps other requests are served. What was built before costs little. */
const [workOfStep, workOfBuild] = [1000, 10] as const;

export class EntityBuilder {
  readonly #inspectFolder: InspectFolder;
  readonly #entries = new WeakMap<StoredEntity, Validated>();
  readonly #models = new WeakMap<
    ModelRow,
    { readonly upstreams: readonly Upstream[]; readonly resolved: ResolvedModel }
  >();
  readonly #projects = new WeakMap<ConfigRows["projects"], Project>();
  readonly #webhooks = new WeakMap<ConfigRows["webhooks"], Webhook>();
  readonly #provisioned = new WeakMap<ProvisionedUpstream, readonly Model[]>();
  #work = 0;

  constructor(inspectFolder: InspectFolder = () => []) {
    this.#inspectFolder = inspectFolder;
  }

  /** Looks into the folder of a local model each time: it may have been created or removed since. */
  validate(entity: StoredEntity, kind: EntityKind): Validated {
    const validated = this.#validateEntry(entity, kind);
    if (kind !== "upstream" || !("row" in validated)) return validated;
    const upstream = validated.row as Upstream;
    const [note] = wrongFolder(upstream.kind, upstream.options, this.#inspectFolder);
    return note ? { note } : validated;
  }

  #validateEntry(entity: StoredEntity, kind: EntityKind): Validated {
    const known = this.#entries.get(entity);
    if (known) return known;
    this.#work += workOfBuild;
    const { id, value } = entity;
    const entry = withoutNulls(fileEntry(kind, id, value), 5);
    const validated = validateEntry(entityKinds[kind].list, entry, { show: quote });
    this.#entries.set(entity, validated);
    return validated;
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
    const [note] = modelProblems(row, kindOf, quote);
    const resolved = note
      ? { note }
      : { model: deepFreeze(configuredModel(row, upstreams, source)) };
    // The message about an upstream that does not exist suggests another, of those that there are.
    if (!note) this.#models.set(row, { upstreams: used, resolved });
    return resolved;
  }

  projectOf(row: ConfigRows["projects"]): Project {
    const known = this.#projects.get(row);
    if (known) return known;
    const { name, limits, budget, ...labels } = row;
    const project: Project = deepFreeze({
      name,
      ...configuredLimits(limits),
      ...budgetOf(budget),
      ...endUserAndTagLimitsOf(labels),
    });
    this.#projects.set(row, project);
    return project;
  }

  addWebhook(row: ConfigRows["webhooks"], webhooks: Map<string, Webhook>): Note | undefined {
    const webhook = this.#webhooks.get(row) ?? deepFreeze(buildWebhook(row));
    this.#webhooks.set(row, webhook);
    if (webhooks.has(webhook.id)) {
      const same = [...webhooks.keys()].indexOf(webhook.id);
      return { path: ["url"], message: `it is the same as webhooks[${same}].url` };
    }
    webhooks.set(webhook.id, webhook);
    return undefined;
  }

  provisionedModels(row: ProvisionedUpstream, source: Source): readonly Model[] {
    const known = this.#provisioned.get(row);
    if (known) return known;
    const models = provisionedModels(row, source).map((model) => deepFreeze(model));
    this.#provisioned.set(row, models);
    return models;
  }

  /** Whether other requests should be served now. */
  isStepOver(): boolean {
    this.#work++;
    if (this.#work < workOfStep) return false;
    this.#work = 0;
    return true;
  }
}

function* upstreamsOf(row: ModelRow): Generator<string> {
  for (const { upstream } of row.targets) yield upstream;
  if (row.kind === "image" && row.moderation) yield row.moderation.upstream;
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, at) => each === other[at]);

/** Hides nothing: stored values do not come from the environment, and messages quote only ids. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
