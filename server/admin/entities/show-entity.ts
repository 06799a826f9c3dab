/** An entity as JSON of the admin API. */
import type { Entity, Origin } from "../../../contract/admin.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { EntityOrigin } from "../../config/snapshot.ts";

export const shownOrigin = ({ source, location }: EntityOrigin): Origin => ({
  source,
  location: location ?? null,
});

/** The schema of vexel.yaml guarantees the type of the value. */
export const shownEntity = <Value>(view: EntityView): Entity<Value> => ({
  object: view.kind,
  id: view.id,
  origin: shownOrigin(view.origin),
  read_only: view.readOnly,
  version: view.version ?? null,
  created_at: timeOf(view.createdAt),
  updated_at: timeOf(view.updatedAt),
  problem: view.problem ?? null,
  value: view.value as Value,
});

const timeOf = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();
