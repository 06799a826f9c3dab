/** /keys: API keys of applications. A key is shown once, when it is created or rotated. */
import { z } from "zod";
import {
  apiKeySchema,
  createdApiKeySchema,
  createdApiKeysSchema,
  keyReviews,
} from "../../../contract/admin/keys.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { CreatedApiKey, CreatedApiKeys } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { keyBody, keysBody, rotationBody } from "../../../contract/schemas/keys.ts";
import { generateKey } from "../../auth/generate-key.ts";
import type { Key } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { hourMs } from "../../lib/timers.ts";
import { VersionConflict } from "../../storage/sql/config-entity-store.ts";
import type { KeySearch, StoredKey } from "../../storage/sql/stored-key.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { versionConflict } from "../entities/entity-errors.ts";
import { ifMatch, setEtag } from "../if-match.ts";
import { requireKeyCapacity } from "../key-capacity.ts";
import { isUnlocked, locksAfter, locksOf, requireWithinLocks } from "../key-locks.ts";
import { requireFuture, requireMayShowCost, requireProject, settingsOf } from "../key-settings.ts";
import { readBody } from "../read-body.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import { reviewer, searchReviewed } from "../reads/review-keys.ts";
import { shownConfigured, shownStored } from "../show-key.ts";

const keysQuery = pageQuery.extend({
  search: z
    .string()
    .max(200)
    .optional()
    .describe("A part of the name or of the first characters of the key, or the id."),
  project: z.string().max(300).optional().describe("Only the keys of this project."),
  created_by: z
    .string()
    .max(300)
    .optional()
    .describe("The id of a user: only the keys that this user created."),
  review: z
    .enum(keyReviews)
    .optional()
    .describe(
      "`unused`: only active keys of the store that were not used for 90 days. `expiring`: only keys that expire within a week.",
    ),
});

export function keyRoutes({
  keys,
  queries,
  snapshot,
  applyKeyChanges,
  audit,
  now,
}: AdminDependencies): readonly AdminRoute[] {
  const fileKeys = () => (snapshot().fileKeys ?? new Map<string, Key>()).values();

  const list = async (context: AdminApiContext): Promise<Response> => {
    const { cursor, limit } = readPage(context);
    const { search, project, created_by: createdBy, review } = readQuery(context, keysQuery);
    const isReviewed = review && (await reviewer(review, queries, now()));
    const actor = context.get("actor");
    const isListed = (of: string | null): boolean =>
      maySeeProject(actor, of) && (project === undefined || of === project);
    // Keys of the file come first.
    const position = positionInFile(cursor);
    const configured =
      position === undefined || createdBy !== undefined
        ? []
        : [...fileKeys()]
            .filter((key) => isMatch(key, search) && isListed(key.project ?? null))
            .filter((key) => isReviewed?.(shownConfigured(key, snapshot(), now())) ?? true)
            .slice(position, position + limit);
    const isFull = position !== undefined && configured.length === limit;
    const stored: KeySearch = {
      cursor: position === undefined ? cursor : undefined,
      limit: limit - configured.length,
      projects:
        project === undefined
          ? (actor.projects ?? undefined)
          : [project].filter((each) => maySeeProject(actor, each)),
      createdBy,
      text: search,
    };
    const { entries, next } = isFull
      ? { entries: [], next: `${fileCursor}${position + limit}` }
      : await (isReviewed
          ? searchReviewed(keys, stored, (key) => isReviewed(shownStored(key, now())))
          : keys.search(stored));
    return context.json({
      object: "list",
      data: [
        ...configured.map((each) => shownConfigured(each, snapshot(), now())),
        ...entries.map((each) => shownStored(each, now())),
      ],
      next_cursor: nextCursor(context, next),
    });
  };

  /** Throws if the actor may not create a key with these settings. */
  const newKey = (context: AdminApiContext, body: z.output<typeof keyBody>) => {
    requireProject(context, body.project ?? null, snapshot());
    const settings = settingsOf(body);
    requireMayShowCost(context.get("actor").role, undefined, settings);
    requireFuture(settings.expiresAt, now());
    const { name, models } = body;
    const locked = locksAfter(context.get("actor").role, undefined, settings);
    const { name: createdBy, userId } = context.get("actor");
    const creator = { createdBy, ...(userId !== null && { createdById: userId }) };
    return generateKey(name, models, { ...settings, locked, ...creator }, now());
  };

  const create = async (context: AdminApiContext): Promise<Response> => {
    const body = await readBody(context, keyBody);
    const { text, key } = newKey(context, body);
    requireKeyCapacity([body.project], snapshot());
    return respond(context, "key.created", await keys.create(key), text);
  };

  /** All or none. The audit log has one entry, and the change is applied once. */
  const createAll = async (context: AdminApiContext): Promise<Response> => {
    const { keys: bodies } = await readBody(context, keysBody);
    const created = bodies.map((body, at) => {
      try {
        return newKey(context, body);
      } catch (error) {
        throw withParamPrefix(error, `keys[${at}].`);
      }
    });
    requireKeyCapacity(
      bodies.map(({ project }) => project),
      snapshot(),
    );
    await keys.createAll(created.map(({ key }) => key));
    await applyKeyChanges();
    await audit.record({
      ...senderOf(context),
      action: "keys.created",
      subject: null,
      after: {
        count: created.length,
        ids: created.map(({ key }) => key.id),
        names: created.map(({ key }) => key.name),
      },
    });
    const data = created.map(({ text, key: { id, name } }) => ({ id, name, key: text }));
    return context.json({ object: "list", data } satisfies CreatedApiKeys, 201);
  };

  const show = async (context: AdminApiContext): Promise<Response> => {
    const id = context.req.param("id") ?? "";
    const configured = fileKeys().find((each) => each.id === id);
    if (configured && maySeeProject(context.get("actor"), configured.project ?? null)) {
      return context.json(shownConfigured(configured, snapshot(), now()));
    }
    const key = await findActive(context);
    setEtag(context, key.version);
    return context.json(shownStored(key, now()));
  };

  const update = async (context: AdminApiContext): Promise<Response> => {
    await findActive(context);
    const body = await readBody(context, keyBody);
    // Read again: the change is based on the version that is stored when the whole body has arrived.
    const before = await findActive(context);
    if (body.project !== before.project) requireProject(context, body.project ?? null, snapshot());
    const { role } = context.get("actor");
    const requested = { name: body.name, models: body.models, ...settingsOf(body) };
    requireWithinLocks(role, before, requested);
    requireMayShowCost(role, before, requested);
    const changed = {
      ...requested,
      locked: locksAfter(role, before, requested),
      ...(before.imported && { imported: before.imported }),
      ...(before.createdBy !== undefined && { createdBy: before.createdBy }),
      ...(before.createdById !== undefined && { createdById: before.createdById }),
    };
    // The other settings of an expired key can be changed.
    if (changed.expiresAt !== before.expiresAt) requireFuture(changed.expiresAt, now());
    const after = await withVersion(context, before, () =>
      keys.update(before.id, changed, before.version),
    );
    await applyKeyChanges();
    const shown = shownStored(after, now());
    await audit.record({
      ...senderOf(context),
      action: "key.updated",
      subject: after.name,
      before: shownStored(before, now()),
      after: shown,
    });
    setEtag(context, after.version);
    return context.json(shown);
  };

  const rotate = async (context: AdminApiContext): Promise<Response> => {
    const before = await findActive(context);
    const { overlapHours } = await readBody(context, rotationBody);
    // The other gateway does not know the new key: a sync with it must not revoke the key.
    const { id, name, models, hash, hint, createdAt, revokedAt, version, imported, ...settings } =
      before;
    // The new key is valid for as long as the old one was, and not only until the old one ends.
    const lifetimeMs = settings.expiresAt === undefined ? 0 : settings.expiresAt - createdAt;
    const isRenewed = lifetimeMs > 0 && isUnlocked(context.get("actor").role, before);
    const renewed = {
      ...settings,
      ...(isRenewed && { expiresAt: now() + lifetimeMs }),
      locked: locksOf(before),
    };
    const end =
      overlapHours === 0 ? { revokeAt: now() } : { expireAt: now() + overlapHours * hourMs };
    const { text, key } = generateKey(name, models, renewed, now(), id);
    const created = await withVersion(context, before, () => keys.rotate(id, key, end, version));
    return respond(context, "key.rotated", created, text, before);
  };

  /**
   * Of two changes that are based on the same version, one is refused. With `if-match` of another version, too: the
   * change is always based on the version that was read, whose locks were checked.
   */
  const withVersion = async (
    context: AdminApiContext,
    { id, version }: StoredKey,
    change: () => Promise<StoredKey | undefined>,
  ): Promise<StoredKey> => {
    const expected = ifMatch(context) ?? version;
    try {
      if (expected !== version) throw new VersionConflict({ kind: "API key", id }, version);
      const changed = await change();
      if (changed) return changed;
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error;
      throw versionConflict({ kind: "API key", id }, error, expected);
    }
    throw noActiveKey();
  };

  const revoke = async (context: AdminApiContext): Promise<Response> => {
    const key = await findActive(context);
    await withVersion(context, key, async () => {
      await keys.revoke(key.id, now());
      return key;
    });
    await applyKeyChanges();
    await audit.record({
      ...senderOf(context),
      action: "key.revoked",
      subject: key.name,
      before: shownStored(key, now()),
    });
    return context.body(null, 204);
  };

  /** `text`: the key itself. `before`: the key that this one replaces. */
  const respond = async (
    context: AdminApiContext,
    action: "key.created" | "key.rotated",
    key: StoredKey,
    text: string,
    before?: StoredKey,
  ): Promise<Response> => {
    await applyKeyChanges();
    const shown = shownStored(key, now());
    await audit.record({
      ...senderOf(context),
      action,
      subject: key.name,
      before: before && shownStored(before, now()),
      after: shown,
    });
    setEtag(context, key.version);
    const created: CreatedApiKey = { ...shown, key: text };
    return context.json(created, 201);
  };

  /** The key of the path. A key of another project is reported like one that does not exist. */
  const findActive = async (context: AdminApiContext): Promise<StoredKey> => {
    const id = context.req.param("id") ?? "";
    const key = (await keys.findActive(id)).find((each) => each.id === id);
    if (key && maySeeProject(context.get("actor"), key.project ?? null)) return key;
    const isConfigured = fileKeys().some((each) => each.id === id);
    throw isConfigured && context.get("actor").projects === null
      ? new GatewayError("entity_read_only", message("key_in_file"))
      : noActiveKey();
  };

  return [
    {
      method: "GET",
      path: "/keys",
      needs: "develop",
      scope: "project",
      summary: "List the API keys, without the keys themselves, newest first.",
      query: keysQuery,
      response: pageSchema(apiKeySchema, listBounds.page),
      handle: list,
    },
    {
      method: "POST",
      path: "/keys",
      needs: "develop",
      scope: "project",
      summary: "Create an API key. Only this response contains the key itself.",
      body: keyBody,
      response: createdApiKeySchema,
      status: 201,
      handle: create,
    },
    {
      method: "POST",
      path: "/keys/bulk",
      needs: "develop",
      scope: "project",
      summary:
        "Create up to 1,000 API keys, all or none. Only this response contains the keys themselves.",
      body: keysBody,
      response: createdApiKeysSchema,
      status: 201,
      handle: createAll,
    },
    {
      method: "GET",
      path: "/keys/:id",
      needs: "develop",
      scope: "project",
      summary: "Show an active API key, without the key itself.",
      response: apiKeySchema,
      handle: show,
    },
    {
      method: "PUT",
      path: "/keys/:id",
      needs: "develop",
      scope: "project",
      summary: "Replace the settings of an API key. The key itself stays. Accepts if-match.",
      body: keyBody,
      response: apiKeySchema,
      handle: update,
    },
    {
      method: "POST",
      path: "/keys/:id/rotate",
      needs: "develop",
      scope: "project",
      summary:
        "Replace an API key by a new one with the same budget and limits. The old key works for another overlapHours hours.",
      body: rotationBody,
      response: createdApiKeySchema,
      status: 201,
      handle: rotate,
    },
    {
      method: "DELETE",
      path: "/keys/:id",
      needs: "develop",
      scope: "project",
      summary: "Revoke an API key at once. Accepts if-match.",
      response: null,
      handle: revoke,
    },
  ];
}

/** The cursor of a page that begins with keys of the file, or with the first stored key after them. */
const fileCursor = "file ";

/** How many keys of the file the pages before had. Undefined if the page begins with a later stored key. */
const positionInFile = (cursor = `${fileCursor}0`): number | undefined =>
  cursor.startsWith(fileCursor) ? Number(cursor.slice(fileCursor.length)) : undefined;

const isMatch = ({ id, name }: Key, search: string | undefined): boolean =>
  search === undefined ||
  [id, name].some((text) => text.toLowerCase().includes(search.toLowerCase()));

/** Names the key of the request that the error is about. */
function withParamPrefix(error: unknown, prefix: string): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { kind, message: text, i18n, details } = error;
  const param = `${prefix}${details.param ?? ""}`.replace(/\.$/, "");
  return new GatewayError(kind, i18n ? { text, i18n } : text, { ...details, param });
}

const noActiveKey = (): GatewayError =>
  new GatewayError("entity_not_found", message("no_active_key"));
