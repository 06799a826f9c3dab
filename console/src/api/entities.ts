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

export const deleteEntity = (list: string, entity: Stored): Promise<void> =>
  call(pathOf(list, entity), { method: "DELETE", ...versionOf(entity) });
