/** Errors of changes to entities, for the clients of the admin API. */
import type { AdminError } from "../../../contract/admin.ts";
import type { EntityRefused } from "../../config/entities/config-entities.ts";
import { type EntityKind, entityKinds } from "../../config/entities/entity-kinds.ts";
import type { EntityOrigin } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { VersionConflict } from "../../storage/ports/config-entity-store.ts";

interface Named {
  readonly kind: EntityKind;
  readonly id: string;
}

/** API keys have versions too. */
interface Versioned {
  readonly kind: EntityKind | "API key";
  readonly id: string;
}

const nameOf = ({ kind, id }: Versioned): string => `The ${kind} ${JSON.stringify(id)}`;

export const notFound = ({ kind, id }: Named): GatewayError =>
  new GatewayError("entity_not_found", `There is no ${kind} ${JSON.stringify(id)}.`);

/** Says where the entity is defined, and what to do. */
export const readOnly = (entity: Named & { origin: EntityOrigin }): GatewayError =>
  new GatewayError("entity_read_only", `${nameOf(entity)} ${howToChange(entity.origin)}`);

function howToChange({ source, location }: EntityOrigin): string {
  switch (source) {
    case "yaml":
      return `is defined in ${location}. Change it there: the gateway applies the file within a second.`;
    case "environment":
      return `comes from the environment variable ${location}. Change the variable and restart the gateway, or create an entity with another id.`;
    default:
      return "is built into the gateway. Create an entity with another id.";
  }
}

export function alreadyExists(entity: Named & { origin: EntityOrigin }): GatewayError {
  const { source, location } = entity.origin;
  const where =
    source === "store" ? "exists" : `exists: it comes from ${location ?? "the gateway"}`;
  return new GatewayError("entity_exists", `${nameOf(entity)} ${where}. Choose another id.`, {
    param: entityKinds[entity.kind].identity ?? "name",
  });
}

/** Something that refers to an entity. */
export type EntityUser = NonNullable<AdminError["error"]["used_by"]>[number];

const [maxListed, maxNamed] = [100, 5];

/** Says what to change first, and lists it. */
export function inUse(entity: Named, usedBy: readonly EntityUser[]): GatewayError {
  const names = usedBy.slice(0, maxNamed).map(({ name }) => name);
  const more = usedBy.length > maxNamed ? ` and ${usedBy.length - maxNamed} more` : "";
  const [first] = usedBy;
  const noun = first?.kind === "key" ? "API keys" : "models";
  return new GatewayError(
    "entity_in_use",
    `${nameOf(entity)} is used by the ${noun} ${names.join(", ")}${more}. Change or delete them first.`,
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
      ? `${nameOf(entity)} was deleted in the meantime.`
      : `${nameOf(entity)} has version ${version}, and your change is based on version ${based}. Reload it and repeat your change.`,
  );

export function refusedChange({ field, reason }: EntityRefused): GatewayError {
  const sentence = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  return field === ""
    ? new GatewayError("invalid_value", sentence.charAt(0).toUpperCase() + sentence.slice(1))
    : new GatewayError("invalid_value", `Invalid '${field}': ${sentence}`, { param: field });
}
