/**
 * Lists and changes the entities of one kind. A change is validated with the whole configuration, written with
 * optimistic locking (`if-match`), recorded in the audit log, and in force when the response is sent.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { message } from "../../../contract/messages/message.ts";
import { name } from "../../../contract/schemas/names.ts";
import { EntityInUse, EntityRefused } from "../../config/entities/config-entities.ts";
import { type EntityKind, entityKinds } from "../../config/entities/entity-kinds.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import { validate } from "../../http/read-body.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type JsonObject, VersionConflict } from "../../storage/sql/config-entity-store.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, senderOf } from "../admin-route.ts";
import { ifMatch, setEtag } from "../if-match.ts";
import { readBody } from "../read-body.ts";
import { readQuery } from "../read-query.ts";
import {
  alreadyExists,
  inUse,
  isReferenced,
  notFound,
  readOnly,
  refusedChange,
  versionConflict,
} from "./entity-errors.ts";
import { referencesTo } from "./entity-references.ts";

export type EntityChanges = ReturnType<typeof entityChanges>;

const anyObject = z.looseObject({});

export const removalQuery = z.object({
  force: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: also if API keys or alert rules refer to it."),
});

export function entityChanges(
  kind: EntityKind,
  { entities, applyEntityChanges, audit, snapshot }: AdminDependencies,
) {
  const list = (): Promise<readonly EntityView[]> => entities.list(kind);

  const findById = (id: string): Promise<EntityView | undefined> => entities.find(kind, id);

  /** The entity of the path. Throws GatewayError. */
  const find = async (context: AdminApiContext): Promise<EntityView> => {
    const id = idOf(context);
    const found = await findById(id);
    if (found) return found;
    throw notFound({ kind, id });
  };

  /** The entity of the path, if it can be changed. Throws GatewayError. */
  const findWritable = async (context: AdminApiContext): Promise<EntityView> => {
    const found = await find(context);
    if (found.readOnly) throw readOnly(found);
    return found;
  };

  const put = async (
    id: string,
    value: JsonObject,
    expected: number | undefined,
  ): Promise<void> => {
    try {
      await entities.put(kind, id, value, expected);
    } catch (error) {
      throw entityErrorToGatewayError(error, { kind, id }, expected);
    }
  };

  const finish = async (
    context: AdminApiContext,
    action: "created" | "updated" | "deleted",
    id: string,
    before?: EntityView,
  ): Promise<EntityView | undefined> => {
    await applyEntityChanges();
    const after = action === "deleted" ? undefined : await findById(id);
    await audit.record({
      ...senderOf(context),
      action: `${kind}.${action}`,
      subject: id,
      before: before?.value,
      after: after?.value,
    });
    setEtag(context, after?.version);
    return after;
  };

  /** The body is an entry of vexel.yaml, with its id. */
  const create = async (context: AdminApiContext): Promise<EntityView> => {
    const { id, value } = withoutId(kind, await readBody(context, anyObject));
    const existing = await findById(id);
    if (existing) throw alreadyExists(existing);
    await put(id, value, 0);
    return required(await finish(context, "created", id), { kind, id });
  };

  /** The body is an entry of vexel.yaml. The id comes from the path. */
  const replace = async (context: AdminApiContext): Promise<EntityView> => {
    const before = await findWritable(context);
    const { id } = before;
    await put(id, ownMembers(kind, await readBody(context, anyObject)), ifMatch(context));
    return required(await finish(context, "updated", id, before), { kind, id });
  };

  /** Changes some members of the entity of the path. */
  const update = async (
    context: AdminApiContext,
    change: (value: JsonObject) => JsonObject,
  ): Promise<EntityView> => {
    const before = await findWritable(context);
    const { id, version } = before;
    await put(id, change(before.value), ifMatch(context) ?? version);
    return required(await finish(context, "updated", id, before), { kind, id });
  };

  const remove = async (context: AdminApiContext): Promise<EntityView> => {
    const before = await findWritable(context);
    const { id } = before;
    const users = referencesTo({ kind, id }, snapshot());
    const { force } = readQuery(context, removalQuery);
    if (users.length > 0 && force !== "true") throw isReferenced({ kind, id }, users);
    const expected = ifMatch(context);
    try {
      if (!(await entities.delete(kind, id, expected))) throw notFound({ kind, id });
    } catch (error) {
      throw entityErrorToGatewayError(error, { kind, id }, expected);
    }
    await finish(context, "deleted", id, before);
    return before;
  };

  return { list, find, findWritable, create, replace, update, remove };
}

export const idOf = (context: AdminApiContext): string => context.req.param("id") ?? "";

export function entityErrorToGatewayError(
  error: unknown,
  entity: { readonly kind: EntityKind; readonly id: string },
  expected?: number,
): unknown {
  if (error instanceof EntityInUse) {
    const models = error.usedBy.map(({ id }) => ({ kind: "model" as const, id, name: id }));
    return inUse(entity, models);
  }
  if (error instanceof EntityRefused) return refusedChange(error);
  return error instanceof VersionConflict ? versionConflict(entity, error, expected) : error;
}

/** Another process may have deleted the entity right after it was written. */
function required(
  view: EntityView | undefined,
  entity: { readonly kind: EntityKind; readonly id: string },
): EntityView {
  if (view) return view;
  throw notFound(entity);
}

function withoutId(kind: EntityKind, body: JsonObject): { id: string; value: JsonObject } {
  const { identity = "name" } = entityKinds[kind];
  const { [identity]: given, ...value } = body;
  // Webhooks need no names in vexel.yaml, so the name is optional here.
  const id = given ?? (kind === "webhook" ? `webhook-${randomBytes(4).toString("hex")}` : given);
  if (typeof id === "string") {
    refuseUnusableId(kind, identity, id);
    return { id, value };
  }
  throw id === undefined
    ? new GatewayError("missing_parameter", message("parameter_missing", { param: identity }), {
        param: identity,
      })
    : new GatewayError("invalid_type", message("parameter_is_no_string", { param: identity }), {
        param: identity,
      });
}

/** The id is a segment of the entity's URL. The schemas of the other kinds validate their ids. */
function refuseUnusableId(kind: EntityKind, identity: string, id: string): void {
  if (kind === "webhook") validate(z.object({ name }), { name: id });
  if (id !== "." && id !== "..") return;
  throw new GatewayError("invalid_value", message("id_is_path", { param: identity }), {
    param: identity,
  });
}

/** Removes the name of a webhook: the store keeps the name as its id, not as a member. */
function ownMembers(kind: EntityKind, { name: given, ...value }: JsonObject): JsonObject {
  return kind === "webhook" || given === undefined ? value : { name: given, ...value };
}
