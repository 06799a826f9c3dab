/**
 * Changes of entities. A change names the version that it is based on, so that two administrators do not overwrite each
 * other.
 */
import type { Entity } from "../../../contract/admin.ts";
import { call } from "./client.ts";

type Stored = Pick<Entity<unknown>, "id" | "version">;

const pathOf = (list: string, { id }: Pick<Stored, "id">): string =>
  `${list}/${encodeURIComponent(id)}`;

const versionOf = ({ version }: Stored) => (version === null ? {} : { version });

/** `entity`: the present one. The default is a new one, with its id in the body. */
export const saveEntity = <Saved>(
  list: string,
  entity: Stored | undefined,
  body: unknown,
): Promise<Saved> =>
  entity
    ? call<Saved>(pathOf(list, entity), { method: "PUT", body, ...versionOf(entity) })
    : call<Saved>(list, { method: "POST", body });

/** `force`: also if API keys or alert rules refer to it. */
export const deleteEntity = (list: string, entity: Stored, force = false): Promise<void> =>
  call(`${pathOf(list, entity)}${force ? "?force=true" : ""}`, {
    method: "DELETE",
    ...versionOf(entity),
  });
