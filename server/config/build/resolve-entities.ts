/**
 * Resolves the entities of a configuration: those of the file, then the stored ones, then provisioned ones. A stored
 * entity that conflicts with the file or is invalid is left out, so that it never takes the gateway down.
 */
import { maxAllTargets } from "../../../contract/admin/list-bounds.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import type { StoredEntity } from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { type EntityKind, isEntityKind } from "../entities/entity-kinds.ts";
import {
  type AlertRule,
  type EntityOrigin,
  type Model,
  originKey,
  type Project,
  type Webhook,
} from "../snapshot.ts";
import type { FromEnvironment } from "../sources/environment-source.ts";
import {
  availableUpstreams,
  type ProvisionedUpstream,
  sourceOf,
} from "../sources/provisioned-upstreams.ts";
import type { LeftOutEntity, StoredConfig } from "../sources/stored-config.ts";
import { type ConfigRows, maxEntries, tooManyTargets } from "../validate/schema.ts";

import { type InspectFolder, wrongDefaults } from "../validate/validate-references.ts";
import { keyOf, type Note, textOf } from "../yaml/problem.ts";
import type { YamlConfig } from "../yaml/read-config.ts";
import { EntityBuilder, show } from "./build-entities.ts";

export interface EntitySources {
  readonly yaml: YamlConfig;
  readonly stored: StoredConfig;
  readonly environment: Pick<FromEnvironment, "upstreams">;
}

export interface ResolvedEntities {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly models: ReadonlyMap<string, Model>;
  readonly projects: ReadonlyMap<string, Project>;
  /** By the id that is derived from the URL. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  readonly alerts: ReadonlyMap<string, AlertRule>;
  /** The origins of entities of the environment and the built-in ones, by kind and id. */
  readonly provisioned: ReadonlyMap<string, EntityOrigin>;
  /** Stored entities that are not in force, with the reason. */
  readonly leftOut: readonly LeftOutEntity[];
}

type ModelRow = ConfigRows["models"];

/** A stored model whose schema is valid. */
interface StoredModel {
  readonly entity: StoredEntity;
  readonly row: ModelRow;
}

/** The entities of the file and the store, while they are collected. */
interface Collected {
  readonly upstreams: Map<string, Upstream>;
  readonly projects: Map<string, Project>;
  readonly webhooks: Map<string, Webhook>;
  readonly alerts: Map<string, AlertRule>;
  readonly storedModels: StoredModel[];
  /** Of all models. */
  targets: number;
  readonly leftOut: LeftOutEntity[];
  /** The stored entities that replace provisioned ones: only they can make the file invalid. */
  readonly replacing: StoredEntity[];
}

interface Attempt {
  readonly resolved: ResolvedEntities;
  /** Why the file is invalid with the stored entities. */
  readonly fileProblem: Note | undefined;
  readonly replacing: readonly StoredEntity[];
}

type Refused = ReadonlyMap<StoredEntity, string>;

export class EntityResolver {
  readonly #builder: EntityBuilder;

  constructor(inspectFolder: InspectFolder | undefined) {
    this.#builder = new EntityBuilder(inspectFolder);
  }

  /** In steps. */
  *resolve(sources: EntitySources): Generator<void, ResolvedEntities> {
    const refused = new Map<StoredEntity, string>();
    for (;;) {
      const { resolved, fileProblem, replacing } = yield* this.#attempt(sources, refused);
      if (!fileProblem) return resolved;
      const last = replacing.at(-1);
      const reason = textOf(fileProblem);
      if (!last) throw new Error(`the file is invalid with the stored entities: ${reason}`);
      refused.set(last, `the configuration is invalid with this entity: ${reason}`);
    }
  }

  *#attempt(sources: EntitySources, refused: Refused): Generator<void, Attempt> {
    const { config } = sources.yaml;
    const provisioned = availableUpstreams(config, sources.environment.upstreams);
    const collected = this.#entitiesOfFile(sources);
    yield* this.#addStored(sources, refused, { collected, replaceable: namesOf(provisioned) });
    const { upstreams, projects, webhooks, alerts, leftOut, replacing } = collected;
    const configured = { ...config, upstreams: [...upstreams.values()] };
    const origins = new Map<string, EntityOrigin>();
    const inForce = provisioned.filter(({ upstream }) => !upstreams.has(upstream.id));
    for (const row of inForce) {
      const { upstream } = row;
      upstreams.set(upstream.id, deepFreeze(upstream));
      origins.set(originKey("upstream", upstream.id), originOf(row));
    }
    const models = new Map<string, Model>();
    let fileProblem = yield* this.#addModels(config.models, collected, models);
    if (replacing.length > 0) {
      fileProblem ??= wrongDefaults(configured, provisioned, models.values(), show)[0];
    }
    for (const row of inForce) {
      for (const model of this.#builder.provisionedModels(row)) {
        if (models.has(model.id)) continue;
        models.set(model.id, model);
        origins.set(originKey("model", model.id), originOf(row));
      }
    }
    const tables = { upstreams, models, projects, webhooks, alerts };
    return { resolved: { ...tables, provisioned: origins, leftOut }, fileProblem, replacing };
  }

  #entitiesOfFile({ yaml: { config }, stored }: EntitySources): Collected {
    const webhooks = new Map<string, Webhook>();
    for (const row of config.webhooks) this.#builder.addWebhook(row, webhooks);
    return {
      upstreams: new Map(config.upstreams.map((row) => [row.id, this.#builder.upstreamOf(row)])),
      projects: new Map(config.projects.map((row) => [row.name, this.#builder.projectOf(row)])),
      webhooks,
      alerts: new Map(config.alerts.map((row) => [row.name, row])),
      storedModels: [],
      targets: config.models.reduce((sum, { targets }) => sum + targets.length, 0),
      leftOut: [...stored.leftOut],
      replacing: [],
    };
  }

  *#addStored(
    { yaml, stored }: EntitySources,
    refused: Refused,
    { collected, replaceable }: { collected: Collected; replaceable: ReadonlySet<string> },
  ): Generator<void, void> {
    const adders = this.#addersTo(collected, yaml.config.models.length);
    for (const entity of stored.entities) {
      const { kind, id } = entity;
      if (!isEntityKind(kind)) continue;
      if (this.#builder.isStepOver()) yield;
      const conflict = conflictOf(yaml, kind, entity) ?? refused.get(entity);
      const validated =
        conflict === undefined
          ? this.#builder.validate(entity, kind)
          : { note: { path: [], message: conflict } };
      const note =
        "row" in validated ? adders[kind](entity, validated.row as never) : validated.note;
      if (note) leaveOut(collected, entity, note);
      else if (replaceable.has(originKey(kind, id))) collected.replacing.push(entity);
    }
  }

  /** Each adds a stored entity, or returns its problem beside those that were added before. */
  #addersTo(collected: Collected, modelsOfFile: number) {
    const { upstreams, projects, webhooks, alerts, storedModels } = collected;
    const fits = (list: keyof typeof maxEntries, { size }: { readonly size: number }) =>
      size < maxEntries[list] ? undefined : tooMany(list);
    return {
      upstream: ({ id }: StoredEntity, row: ConfigRows["upstreams"]) => {
        const note = fits("upstreams", upstreams);
        if (!note) upstreams.set(id, this.#builder.upstreamOf(row));
        return note;
      },
      project: ({ id }: StoredEntity, row: ConfigRows["projects"]) => {
        const note = fits("projects", projects);
        if (!note) projects.set(id, this.#builder.projectOf(row));
        return note;
      },
      webhook: ({ id }: StoredEntity, row: ConfigRows["webhooks"]) =>
        fits("webhooks", webhooks) ?? this.#builder.addWebhook({ ...row, name: id }, webhooks),
      alert: ({ id }: StoredEntity, row: AlertRule) => {
        const note = fits("alerts", alerts);
        if (!note) alerts.set(id, row);
        return note;
      },
      model: (entity: StoredEntity, row: ModelRow) => {
        const targets = collected.targets + row.targets.length;
        const note = fits("models", { size: modelsOfFile + storedModels.length });
        if (note) return note;
        if (targets > maxAllTargets) return { path: [], message: tooManyTargets };
        collected.targets = targets;
        storedModels.push({ entity, row });
        return undefined;
      },
    } satisfies Record<EntityKind, (entity: StoredEntity, row: never) => Note | undefined>;
  }

  /** Returns the first problem of the file. */
  *#addModels(
    ofFile: readonly ModelRow[],
    collected: Collected,
    models: Map<string, Model>,
  ): Generator<void, Note | undefined> {
    let fileProblem: Note | undefined;
    for (const row of ofFile) {
      if (this.#builder.isStepOver()) yield;
      const resolved = this.#builder.modelOf(row, collected.upstreams, "yaml");
      if ("model" in resolved) models.set(row.id, resolved.model);
      else fileProblem ??= resolved.note;
    }
    for (const { entity, row } of collected.storedModels) {
      if (this.#builder.isStepOver()) yield;
      const resolved = this.#builder.modelOf(row, collected.upstreams, "store");
      if ("model" in resolved) models.set(row.id, resolved.model);
      else leaveOut(collected, entity, resolved.note);
    }
    return fileProblem;
  }
}

const tooMany = (list: keyof typeof maxEntries): Note => ({
  path: [],
  message: `must have at most ${maxEntries[list]} entries`,
});

function leaveOut({ leftOut }: Collected, { kind, id }: StoredEntity, note: Note): void {
  leftOut.push({ kind, id, field: keyOf(note.path), reason: textOf(note) });
}

/** Webhooks of the file have no ids. */
function conflictOf(yaml: YamlConfig, kind: EntityKind, { id }: StoredEntity): string | undefined {
  const entry = kind === "webhook" ? undefined : yaml.entries.get(originKey(kind, id));
  if (!entry) return undefined;
  return `${yaml.file} line ${entry.line} has a ${kind} with this id, which takes precedence`;
}

const namesOf = (provisioned: readonly ProvisionedUpstream[]) =>
  new Set(
    provisioned.flatMap(({ upstream, models }) => [
      originKey("upstream", upstream.id),
      ...models.map(({ id }) => originKey("model", id)),
    ]),
  );

const originOf = (row: ProvisionedUpstream): EntityOrigin => ({
  source: sourceOf(row),
  ...(row.variable !== undefined && { location: row.variable }),
});
