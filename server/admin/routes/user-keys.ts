/** /users/:id/keys: the active API keys that a user created, when the user leaves: they are moved or revoked. */
import { message } from "../../../contract/messages/message.ts";
import { movedKeysBody } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { VersionConflict } from "../../storage/sql/config-entity-store.ts";
import type { KeyUpdate, StoredKey } from "../../storage/sql/stored-key.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { readBody } from "../read-body.ts";

const keysOfStep = 200;

export function userKeyRoutes({
  users,
  keys,
  applyKeyChanges,
  audit,
  now,
}: Pick<
  AdminDependencies,
  "users" | "keys" | "applyKeyChanges" | "audit" | "now"
>): readonly AdminRoute[] {
  const find = async (id: string): Promise<StoredUser> => {
    const user = await users.findById(id);
    if (user) return user;
    throw new GatewayError("entity_not_found", message("no_such_user"));
  };

  async function* activeKeysOf({ id }: StoredUser): AsyncGenerator<StoredKey> {
    for (let cursor: string | undefined; ; ) {
      const { entries, next } = await keys.search({ cursor, limit: keysOfStep, createdBy: id });
      yield* entries.filter(({ revokedAt }) => revokedAt === null);
      if (next === undefined) return;
      cursor = next;
    }
  }

  /** Changes each active key of the user of the path, and records it once. */
  const changeAll = async (
    context: AdminApiContext,
    action: "user.keys_moved" | "user.keys_revoked",
    change: (key: StoredKey) => Promise<unknown>,
    to?: string,
  ): Promise<Response> => {
    const user = await find(context.req.param("id") ?? "");
    const names: string[] = [];
    for await (const key of activeKeysOf(user)) {
      await change(key);
      names.push(key.name);
    }
    await applyKeyChanges();
    const after = { keys: names, ...(to !== undefined && { to }) };
    await audit.record({ ...senderOf(context), action, subject: user.name, after });
    return context.body(null, 204);
  };

  const move = async (context: AdminApiContext): Promise<Response> => {
    const to = await find((await readBody(context, movedKeysBody)).to);
    const moveOne = async (key: StoredKey): Promise<void> => {
      const { id, hash, hint, createdAt, revokedAt, version, ...settings } = key;
      const moved: KeyUpdate = { ...settings, createdBy: to.name, createdById: to.id };
      try {
        await keys.update(id, moved, version);
      } catch (error) {
        if (!(error instanceof VersionConflict)) throw error;
        // Somebody has changed the key since it was read.
        const changed = await keys.findById(id);
        if (changed && changed.revokedAt === null) await moveOne(changed);
      }
    };
    return changeAll(context, "user.keys_moved", moveOne, to.name);
  };

  const revoke = (context: AdminApiContext): Promise<Response> =>
    changeAll(context, "user.keys_revoked", ({ id }) => keys.revoke(id, now()));

  return [
    {
      method: "PUT",
      path: "/users/:id/keys",
      needs: "administer",
      scope: "all-projects",
      summary: "Move the active API keys that a user created to another user.",
      body: movedKeysBody,
      response: null,
      handle: move,
    },
    {
      method: "DELETE",
      path: "/users/:id/keys",
      needs: "administer",
      scope: "all-projects",
      summary: "Revoke the active API keys that a user created.",
      response: null,
      handle: revoke,
    },
  ];
}
