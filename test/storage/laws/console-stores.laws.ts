/**
 * Laws (contract tests) of the ports `UserStore`, `SessionStore`, `AdminTokenStore` and `AuditLog`, the stores of the console, for every
 * implementation.
 */
import { expect, test } from "bun:test";
import type {
  AdminTokenStore,
  StoredAdminToken,
} from "../../../server/storage/sql/admin-token-store.ts";
import type { AuditLog, StoredAuditEntry } from "../../../server/storage/sql/audit-log.ts";
import type { SessionStore, StoredSession } from "../../../server/storage/sql/session-store.ts";
import type { StatementStore } from "../../../server/storage/sql/statement-store.ts";
import {
  LastAdministrator,
  type StoredUser,
  type UserStore,
} from "../../../server/storage/sql/user-store.ts";
import { type Implementation, withStorage } from "./backend.ts";

export interface ConsoleStores {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly tokens: AdminTokenStore;
  readonly audit: AuditLog;
  readonly statements: StatementStore;
  close(): Promise<void>;
}

const user = (changes: Partial<StoredUser> = {}): StoredUser => ({
  id: "user_1",
  name: "Ada",
  role: "admin",
  projects: null,
  projectRoles: {},
  passwordHash: "hash",
  oidcSubject: null,
  mustChangePassword: false,
  disabledAt: null,
  invite: null,
  totp: null,
  createdAt: 1,
  lastSignInAt: null,
  ...changes,
});

const session = (changes: Partial<StoredSession> = {}): StoredSession => ({
  id: "session_1",
  address: "127.0.0.1",
  userAgent: "Browser",
  tokenHash: "token-1",
  userId: "user_1",
  csrfToken: "csrf",
  signedInAt: 10,
  issuedAt: 10,
  lastSeenAt: 10,
  replacedAt: null,
  ...changes,
});

const token = (changes: Partial<StoredAdminToken> = {}): StoredAdminToken => ({
  id: "token_1",
  userId: "user_1",
  name: "deploy",
  hash: "hash-1",
  hint: "vxa-abcd",
  createdAt: 10,
  expiresAt: 100,
  lastUsedAt: null,
  ...changes,
});

const entry = (id: string, changes: Partial<StoredAuditEntry> = {}): StoredAuditEntry => ({
  id,
  at: 1,
  actor: "Ada",
  action: "key.created",
  subject: "key_1",
  before: null,
  after: { name: "日本 \u0000 \" '; DROP TABLE users; --" },
  address: "127.0.0.1",
  ...changes,
});

export function consoleStoreLaws(implementation: Implementation<ConsoleStores>): void {
  const law = (promise: string, check: (stores: ConsoleStores) => Promise<void>): void =>
    test(`${implementation.name} stores of the console: ${promise}`, () =>
      withStorage(implementation, async (open) => check(await open())));

  law("a user is found by id, by name in any case, and by subject", async ({ users }) => {
    const ada = user({
      projects: ["a", "日本"],
      projectRoles: { 日本: "lead" },
      oidcSubject: "issuer#1",
    });
    expect(await users.create(ada)).toBe(true);
    expect(await users.findById("user_1")).toEqual(ada);
    expect(await users.findByName("aDA")).toEqual(ada);
    expect(await users.findByOidcSubject("issuer#1")).toEqual(ada);
    expect(await users.findByName("Bob")).toBeUndefined();
  });

  law("two users never have the same name, also after a change", async ({ users }) => {
    await users.create(user());
    expect(await users.create(user({ id: "user_2", name: "ADA" }))).toBe(false);
    expect(await users.create(user({ id: "user_2", name: "Bob" }))).toBe(true);
    expect(await users.update("user_2", { name: "ada" })).toBe(false);
    expect((await users.findById("user_2"))?.name).toBe("Bob");
  });

  law("only one of two first users is created", async ({ users }) => {
    expect(await users.isEmpty()).toBe(true);
    const both = [user(), user({ id: "user_2", name: "Bob" })];
    const created = await Promise.all(both.map((each) => users.createFirst(each)));
    expect(created.filter(Boolean)).toHaveLength(1);
    expect(await users.isEmpty()).toBe(false);
  });

  law("a change keeps the members that it does not name", async ({ users }) => {
    await users.create(user());
    await users.create(user({ id: "user_2", name: "Bob" }));
    expect(await users.update("user_1", { role: "viewer", projects: ["p"] })).toBe(true);
    expect(await users.findById("user_1")).toEqual(user({ role: "viewer", projects: ["p"] }));
    expect(await users.update("user_9", { role: "viewer" })).toBe(false);
  });

  law("a user gets a subject, which no other user can get", async ({ users }) => {
    await users.create(user());
    await users.create(user({ id: "user_2", name: "Bob" }));
    expect(await users.update("user_1", { oidcSubject: "issuer#1" })).toBe(true);
    expect((await users.findByOidcSubject("issuer#1"))?.id).toBe("user_1");
    expect(await users.update("user_2", { oidcSubject: "issuer#1" })).toBe(false);
  });

  law("the sessions and tokens of a deleted user end", async ({ users, sessions, tokens }) => {
    await users.create(user({ role: "viewer" }));
    await sessions.create(session());
    await tokens.create(token(), 10);
    expect(await users.delete("user_1")).toBe(true);
    expect(await users.delete("user_1")).toBe(false);
    expect(await sessions.find("token-1")).toBeUndefined();
    expect(await tokens.findByHash("hash-1")).toBeUndefined();
    expect(await users.list()).toEqual([]);
  });

  const removals: Readonly<Record<string, (users: UserStore, id: string) => Promise<boolean>>> = {
    "are deleted": (users, id) => users.delete(id),
    "lose the role": (users, id) => users.update(id, { role: "viewer" }),
    "are disabled": (users, id) => users.update(id, { disabledAt: 1 }),
  };
  for (const [what, remove] of Object.entries(removals)) {
    law(`of two administrators who ${what} at the same time, one stays`, async ({ users }) => {
      for (const id of ["user_1", "user_2"]) await users.create(user({ id, name: id }));
      const outcomes = await Promise.allSettled([remove(users, "user_1"), users.delete("user_2")]);
      const refused = outcomes.filter(({ status }) => status === "rejected");
      expect(refused).toHaveLength(1);
      expect(refused[0]).toHaveProperty("reason", expect.any(LastAdministrator));
      const active = (await users.list()).filter(
        ({ role, disabledAt }) => role === "admin" && disabledAt === null,
      );
      expect(active).toHaveLength(1);
    });
  }

  law(
    "an administrator who cannot sign in yet does not replace the last one",
    async ({ users }) => {
      await users.create(user());
      await users.create(user({ id: "user_2", name: "Bob", passwordHash: null }));
      const [error] = await Promise.allSettled([users.delete("user_1")]);
      expect(error).toHaveProperty("reason", expect.any(LastAdministrator));
    },
  );

  law("an invitation is found by its hash, and one of two requests uses it", async ({ users }) => {
    const invite = { hash: "invite-hash", expiresAt: 50 };
    await users.create(user({ passwordHash: null, mustChangePassword: true, invite }));
    expect((await users.findByInvite("invite-hash"))?.invite).toEqual(invite);
    const used = await Promise.all(
      ["a", "b"].map((hash) => users.acceptInvite("user_1", "invite-hash", hash)),
    );
    expect(used.filter(Boolean)).toHaveLength(1);
    const after = await users.findById("user_1");
    expect(after).toMatchObject({ invite: null, mustChangePassword: false });
    expect(["a", "b"]).toContain(after?.passwordHash ?? "");
    expect(await users.findByInvite("invite-hash")).toBeUndefined();
  });

  law("of two requests that change a second factor, one does", async ({ users }) => {
    const totp = { secret: "encrypted", step: 5, recoveryHashes: ["x", "y"] };
    await users.create(user({ totp }));
    const changed = await Promise.all([
      users.replaceTotp("user_1", totp, { ...totp, step: 6 }),
      users.replaceTotp("user_1", totp, { ...totp, recoveryHashes: ["y"] }),
    ]);
    expect(changed.filter(Boolean)).toHaveLength(1);
    expect(await users.update("user_1", { totp: null })).toBe(true);
    expect((await users.findById("user_1"))?.totp).toBeNull();
  });

  law("a user has at most the given number of tokens, the newest first", async ({ tokens }) => {
    expect(await tokens.create(token(), 2)).toBe(true);
    const second = token({ id: "token_2", hash: "hash-2", createdAt: 20 });
    expect(await tokens.create(second, 2)).toBe(true);
    expect(await tokens.create(token({ id: "token_3", hash: "hash-3" }), 2)).toBe(false);
    expect((await tokens.listOfUser("user_1")).map(({ id }) => id)).toEqual(["token_2", "token_1"]);
    expect(await tokens.findByHash("hash-2")).toEqual(second);
    await tokens.touch("token_2", 30);
    expect((await tokens.findByHash("hash-2"))?.lastUsedAt).toBe(30);
  });

  law("a user revokes their own tokens only", async ({ tokens }) => {
    await tokens.create(token(), 10);
    expect(await tokens.delete("user_2", "token_1")).toBeUndefined();
    expect(await tokens.delete("user_1", "token_1")).toEqual(token());
    await tokens.create(token(), 10);
    await tokens.create(token({ id: "token_2", hash: "hash-2", userId: "user_2" }), 10);
    await tokens.deleteOfUser("user_1");
    expect(await tokens.findByHash("hash-1")).toBeUndefined();
    expect(await tokens.findByHash("hash-2")).toBeDefined();
  });

  law(
    "a session is listed once, whatever its tokens, and ended with all of them",
    async (stores) => {
      const { sessions } = stores;
      await sessions.create(session());
      await sessions.replace("token-1", session({ tokenHash: "token-2", lastSeenAt: 20 }));
      await sessions.create(session({ id: "session_2", tokenHash: "token-3", lastSeenAt: 30 }));
      await sessions.create(session({ id: "session_3", tokenHash: "token-4", userId: "user_2" }));
      const listed = (await sessions.listOfUser("user_1")).map(({ id }) => id);
      expect(listed).toEqual(["session_2", "session_1"]);
      expect(await sessions.deleteById("user_2", "session_1")).toBe(false);
      expect(await sessions.deleteById("user_1", "session_1")).toBe(true);
      const found = await Promise.all(["token-1", "token-2"].map((hash) => sessions.find(hash)));
      expect(found).toEqual([undefined, undefined]);
    },
  );

  law(
    "a sign-in beyond the maximum ends the session that was used least recently",
    async (stores) => {
      const { sessions } = stores;
      const create = (id: string, lastSeenAt: number, userId = "user_1") =>
        sessions.create(session({ id, tokenHash: id, lastSeenAt, userId }), 2);
      await create("a", 10);
      await create("b", 30);
      await create("other", 5, "user_2");
      await create("c", 40);
      expect((await sessions.listOfUser("user_1")).map(({ id }) => id)).toEqual(["c", "b"]);
      expect(await sessions.find("other")).toBeDefined();
    },
  );

  law("a user beyond the maximum is refused", async ({ users }) => {
    expect(await users.create(user(), 2)).toBe(true);
    expect(await users.create(user({ id: "user_2", name: "Bob" }), 2)).toBe(true);
    const refused = users.create(user({ id: "user_3", name: "Eve" }), 2);
    await expect(refused).rejects.toThrow("There are 2 users");
    expect(await users.list()).toHaveLength(2);
  });

  law("a token is replaced once, although two requests try", async ({ sessions }) => {
    await sessions.create(session());
    const replacements = ["token-2", "token-3"].map((tokenHash) =>
      session({ tokenHash, issuedAt: 20, lastSeenAt: 20 }),
    );
    const replaced = await Promise.all(
      replacements.map((each) => sessions.replace("token-1", each)),
    );
    expect(replaced.filter(Boolean)).toHaveLength(1);
    expect((await sessions.find("token-1"))?.replacedAt).toBe(20);
    const stored = await Promise.all(["token-2", "token-3"].map((hash) => sessions.find(hash)));
    expect(stored.filter(Boolean)).toHaveLength(1);
  });

  law(
    "expired sessions are deleted by idleness and by age, and no others",
    async ({ sessions }) => {
      await sessions.create(session({ tokenHash: "idle", lastSeenAt: 4, signedInAt: 100 }));
      await sessions.create(session({ tokenHash: "old", lastSeenAt: 100, signedInAt: 4 }));
      await sessions.create(session({ tokenHash: "fresh", lastSeenAt: 100, signedInAt: 100 }));
      await sessions.deleteExpired(5, 5, 10);
      const found = await Promise.all(["idle", "old", "fresh"].map((hash) => sessions.find(hash)));
      expect(found.map((each) => each?.tokenHash)).toEqual([undefined, undefined, "fresh"]);
    },
  );

  law("one call deletes at most the given number of expired sessions", async ({ sessions }) => {
    const hashes = Array.from({ length: 5 }, (_, at) => `token-${at}`);
    for (const tokenHash of hashes) await sessions.create(session({ tokenHash, lastSeenAt: 4 }));
    const counts: number[] = [];
    for (let call = 0; call < 3; call++) {
      await sessions.deleteExpired(5, 0, 2);
      const found = await Promise.all(hashes.map((hash) => sessions.find(hash)));
      counts.push(found.filter(Boolean).length);
    }
    expect(counts).toEqual([3, 1, 0]);
  });

  law("all sessions of a user end except the one that is kept", async ({ sessions }) => {
    for (const tokenHash of ["a", "b"]) await sessions.create(session({ tokenHash }));
    await sessions.create(session({ tokenHash: "other", userId: "user_2" }));
    await sessions.deleteOfUser("user_1", "b");
    const found = await Promise.all(["a", "b", "other"].map((hash) => sessions.find(hash)));
    expect(found.map((each) => each?.tokenHash)).toEqual([undefined, "b", "other"]);
  });

  law("a statement is never changed, also by another replica", async ({ statements }) => {
    const october = {
      project: "web",
      month: "2026-10",
      createdAt: 5,
      requests: 3,
      unpriced: 1,
      cost: 0.123456789,
      estimatedCost: 0.5,
    };
    const september = { ...october, month: "2026-09" };
    await statements.create(september, "key,cost\r\n");
    await statements.create(october, "key,cost\r\nk,1\r\n");
    await statements.create({ ...october, requests: 4, createdAt: 6 }, "other");
    await statements.create({ ...october, project: "other" }, "other");
    expect(await statements.list("web")).toEqual([october, september]);
    expect(await statements.csv("web", "2026-10")).toBe("key,cost\r\nk,1\r\n");
    expect(await statements.csv("web", "2026-08")).toBeUndefined();
  });

  law("audit entries are listed newest first, page by page", async ({ audit }) => {
    for (let at = 1; at <= 5; at++) await audit.append(entry(`audit_${at}`, { at }));
    const first = await audit.list({}, { limit: 2 });
    expect(first.entries.map(({ id }) => id)).toEqual(["audit_5", "audit_4"]);
    const second = await audit.list({}, { limit: 3, cursor: first.next });
    expect(second.entries.map(({ id }) => id)).toEqual(["audit_3", "audit_2", "audit_1"]);
    expect(second.next).toBeUndefined();
  });

  law("audit entries of a kind, of a subject and of a time are found", async ({ audit }) => {
    const actions = ["key.created", "key.revoked", "keys.created", "project.updated"];
    for (const [at, action] of actions.entries())
      await audit.append(entry(`audit_${at}`, { at, action, subject: action.split(".")[0]! }));
    const found = async (filter: Parameters<typeof audit.list>[0]) =>
      (await audit.list(filter, { limit: 9 })).entries.map(({ action }) => action);
    expect(await found({ action: "key.*" })).toEqual(["key.revoked", "key.created"]);
    expect(await found({ action: "key.revoked" })).toEqual(["key.revoked"]);
    expect(await found({ subject: "project" })).toEqual(["project.updated"]);
    expect(await found({ from: 1, to: 3 })).toEqual(["keys.created", "key.revoked"]);
  });

  law("audit entries keep their values, and filters find them", async ({ audit }) => {
    await audit.append(entry("audit_1"));
    await audit.append(entry("audit_2", { actor: "Bob", action: "key.revoked" }));
    const found = await audit.list({ actor: "Ada" }, { limit: 10 });
    expect(found.entries).toEqual([entry("audit_1")]);
    const revoked = await audit.list({ action: "key.revoked" }, { limit: 10 });
    expect(revoked.entries.map(({ id }) => id)).toEqual(["audit_2"]);
  });

  law("old audit entries are pruned", async ({ audit }) => {
    await audit.append(entry("audit_1", { at: 1 }));
    await audit.append(entry("audit_2", { at: 2 }));
    expect(await audit.prune(2, 10)).toBe(false);
    const { entries } = await audit.list({}, { limit: 10 });
    expect(entries.map(({ id }) => id)).toEqual(["audit_2"]);
  });

  law("audit entries are pruned in steps, the oldest first", async ({ audit }) => {
    // Ids that are not in the order of the times.
    for (let at = 1; at <= 5; at++) await audit.append(entry(`audit_${9 - at}`, { at }));
    expect(await audit.prune(5, 3)).toBe(true);
    const { entries } = await audit.list({}, { limit: 10 });
    expect(entries.map(({ at }) => at)).toEqual([4, 5]);
    expect(await audit.prune(5, 3)).toBe(false);
    expect((await audit.list({}, { limit: 10 })).entries.map(({ at }) => at)).toEqual([5]);
  });
}
