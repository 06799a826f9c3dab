/** What refers to an entity by its id, and would refer to nothing after its deletion. */
import type { EntityKind } from "../../config/entities/entity-kinds.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import type { EntityUser } from "./entity-errors.ts";

/** A pattern with `*` or `?` is not a reference: it may match other models. */
export function referencesTo(
  { kind, id }: { readonly kind: EntityKind; readonly id: string },
  { keys, alerts }: Pick<Snapshot, "keys" | "alerts">,
): readonly EntityUser[] {
  const rules = [...(alerts?.values() ?? [])].filter((rule) =>
    kind === "webhook"
      ? rule.receivers?.includes(id)
      : (kind === "model" || kind === "project" || kind === "upstream") && rule[kind] === id,
  );
  const ofModel =
    kind === "model"
      ? [...keys.values()].filter(
          ({ models, defaults }) =>
            models.includes(id) || defaults?.embedding === id || defaults?.image === id,
        )
      : [];
  return [
    ...rules.map(({ name }) => ({ kind: "alert" as const, id: name, name })),
    ...ofModel.map((key) => ({ kind: "key" as const, id: key.id, name: key.name })),
  ];
}
