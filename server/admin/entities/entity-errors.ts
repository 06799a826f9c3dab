/** Errors of changes to entities, for the clients of the admin API. */
import type { AdminError } from "../../../contract/admin.ts";

import { message } from "../../../contract/messages/message.ts";
import type { Message } from "../../../contract/messages/message-format.ts";
import { schemaMessageOf } from "../../../contract/messages/schema-messages.ts";
import type { EntityRefused } from "../../config/entities/config-entities.ts";
import { type EntityKind, entityKinds } from "../../config/entities/entity-kinds.ts";
import type { EntityOrigin } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { VersionConflict } from "../../storage/sql/config-entity-store.ts";

interface Named {
  readonly kind: EntityKind;
  readonly id: string;
}

/** API keys have versions too. */
interface Versioned {
  readonly kind: EntityKind | "API key";
  readonly id: string;
}

const nameOf = ({ kind, id }: Versioned): { kind: string; id: string } => ({
  kind,
  id: JSON.stringify(id),
});

export const notFound = (entity: Named): GatewayError =>
  new GatewayError("entity_not_found", message("no_such_entity", nameOf(entity)));

/** Says where the entity is defined, and what to do. */
export const readOnly = (entity: Named & { origin: EntityOrigin }): GatewayError =>
  new GatewayError("entity_read_only", howToChange(entity));

function howToChange(entity: Named & { origin: EntityOrigin }): Message {
  const { source, location = "" } = entity.origin;
  const values = { ...nameOf(entity), location };
  switch (source) {
    case "yaml":
      return message("entity_in_file", values);
    case "environment":
      return message("entity_in_environment", values);
    default:
      return message("entity_built_in", nameOf(entity));
  }
}

export function alreadyExists(entity: Named & { origin: EntityOrigin }): GatewayError {
  const { source, location } = entity.origin;
  const reason =
    source === "store"
      ? message("entity_exists", nameOf(entity))
      : message("entity_exists_elsewhere", {
          ...nameOf(entity),
          location: location ?? "the gateway",
        });
  return new GatewayError("entity_exists", reason, {
    param: entityKinds[entity.kind].identity ?? "name",
  });
}

/** Something that refers to an entity. */
export type EntityUser = NonNullable<AdminError["error"]["used_by"]>[number];

const [maxListed, maxNamed] = [100, 5];

/** Says what to change first, and lists it. */
export function inUse(entity: Named, usedBy: readonly EntityUser[]): GatewayError {
  const names = usedBy.slice(0, maxNamed).map(({ name }) => name);
  const more =
    usedBy.length > maxNamed ? message("and_more", { count: usedBy.length - maxNamed }) : "";
  const [first] = usedBy;
  const id = first?.kind === "key" ? "used_by_keys" : "used_by_models";
  return new GatewayError(
    "entity_in_use",
    message(id, { ...nameOf(entity), names: names.join(", "), more }),
    { extra: { used_by: usedBy.slice(0, maxListed) } },
  );
}

/** `based`: the version that the change was based on. */
export const versionConflict = (
  entity: Versioned,
  { version }: VersionConflict,
  based: number | undefined,
): GatewayError =>
  new GatewayError(
    "version_conflict",
    version === 0
      ? message("entity_deleted", nameOf(entity))
      : message("entity_changed", { ...nameOf(entity), version, based: String(based) }),
  );

/** Lists what refers to the entity. It can be deleted all the same. */
export function isReferenced(entity: Named, usedBy: readonly EntityUser[]): GatewayError {
  const names = usedBy.slice(0, maxNamed).map(({ kind, name }) => userText(kind, name));
  const more =
    usedBy.length > maxNamed ? message("and_more", { count: usedBy.length - maxNamed }) : "";
  return new GatewayError(
    "entity_in_use",
    message("is_referenced", { ...nameOf(entity), names: names.join(", "), more }),
    { extra: { used_by: usedBy.slice(0, maxListed) } },
  );
}

/** Such as `key "app"`. */
const userText = (kind: EntityUser["kind"], name: string): string =>
  `${kind} ${JSON.stringify(name)}`;

/** A reason of a schema that the console has, too, is translated. */
function invalid(param: string, reason: string, sentence: string): Message {
  const known = schemaMessageOf(reason);
  return message("parameter_invalid", {
    param,
    reason: known ? { ...known, text: sentence } : sentence,
  });
}

export function refusedChange({ field, reason }: EntityRefused): GatewayError {
  const sentence = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  return field === ""
    ? new GatewayError("invalid_value", sentence.charAt(0).toUpperCase() + sentence.slice(1))
    : new GatewayError("invalid_value", invalid(field, reason, sentence), { param: field });
}
