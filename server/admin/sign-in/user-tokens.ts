/**
 * The users' own tokens of the admin API, for scripts. A token acts with the role and the projects that its user has
 * at the time of the request. Its text is shown once; only its hash is stored.
 */
import { randomBytes } from "node:crypto";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import type { AdminTokenStore, StoredAdminToken } from "../../storage/sql/admin-token-store.ts";
import type { StoredUser, UserStore } from "../../storage/sql/user-store.ts";

const prefix = "vxa-";
const tokenBytes = 32;
const maxTokens = listBounds.tokens;
/** `lastUsedAt` is written at most this often. */
const touchEveryMs = 60_000;

interface UserToken {
  readonly token: StoredAdminToken;
  readonly user: StoredUser;
}

interface UserTokensOptions {
  readonly store: AdminTokenStore;
  readonly users: Pick<UserStore, "findById">;
  /** Unix milliseconds. Replicas share the clock of their database. */
  readonly now: () => number;
}

/** An administrator's VEXEL_ADMIN_TOKEN may have any form: it is compared as well if no token of a user matches. */
export const isUserToken = (presented: string): boolean => presented.startsWith(prefix);

export class UserTokens {
  readonly #store: AdminTokenStore;
  readonly #users: UserTokensOptions["users"];
  readonly #now: UserTokensOptions["now"];

  constructor({ store, users, now }: UserTokensOptions) {
    this.#store = store;
    this.#users = users;
    this.#now = now;
  }

  /** `expiresAt`: Unix milliseconds. Throws GatewayError if the user has the most tokens. */
  async create(userId: string, name: string, expiresAt: number) {
    const text = `${prefix}${randomBytes(tokenBytes).toString("base64url")}`;
    const token: StoredAdminToken = {
      id: `token_${randomBytes(8).toString("hex")}`,
      userId,
      name,
      hash: secretHash(text),
      hint: text.slice(0, prefix.length + 4),
      createdAt: this.#now(),
      expiresAt,
      lastUsedAt: null,
    };
    if (await this.#store.create(token, maxTokens)) return { text, token };
    throw new GatewayError("invalid_value", message("too_many_tokens", { max: maxTokens }));
  }

  /** Undefined if the token is unknown, revoked or expired, or its user cannot sign in. */
  async find(presented: string): Promise<UserToken | undefined> {
    const token = await this.#store.findByHash(secretHash(presented));
    const at = this.#now();
    if (!token || token.expiresAt <= at) return undefined;
    const user = await this.#users.findById(token.userId);
    if (!user || user.disabledAt !== null) return undefined;
    if (at - (token.lastUsedAt ?? 0) > touchEveryMs) await this.#store.touch(token.id, at);
    return { token, user };
  }

  /** Also tokens that have expired, the newest first. */
  listOfUser(userId: string): Promise<readonly StoredAdminToken[]> {
    return this.#store.listOfUser(userId);
  }

  /** The revoked token. Undefined if the user has no such token. */
  revoke(userId: string, id: string): Promise<StoredAdminToken | undefined> {
    return this.#store.delete(userId, id);
  }

  revokeOfUser(userId: string): Promise<void> {
    return this.#store.deleteOfUser(userId);
  }
}
