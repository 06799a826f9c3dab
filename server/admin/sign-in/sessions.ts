/**
 * Sessions of console users: created at the sign-in with a new token, which prevents session fixation, rotated every
 * hour, ended by sign-out, idleness or age. The session cookie holds the token; the store has only its hash.
 */
import { randomBytes } from "node:crypto";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import { hourMs } from "../../lib/timers.ts";
import type { SessionStore, StoredSession } from "../../storage/sql/session-store.ts";
import type { StoredUser, UserStore } from "../../storage/sql/user-store.ts";

const idleMs = 12 * hourMs;
const maxAgeMs = 7 * 24 * hourMs;
const rotateAfterMs = hourMs;
/** The old token stays valid for this time: requests that were sent before the rotation still arrive. */
const rotationGraceMs = 30_000;
/** `lastSeenAt` is written at most this often. */
const touchEveryMs = 60_000;
/**
 * Expired tokens that one sign-in deletes. A session has at most 168 of them, as it is rotated every hour for a week.
 */
const maxDeleted = 500;

/** The most characters of a `user-agent` that are stored. */
const maxUserAgent = 300;

/** Where a session was started. */
interface SessionClient {
  readonly address: string;
  readonly userAgent: string;
}

export interface ActiveSession {
  readonly id: string;
  readonly user: StoredUser;
  readonly csrfToken: string;
  readonly tokenHash: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

export interface IssuedSession extends ActiveSession {
  /** For the cookie; only its hash is stored. */
  readonly token: string;
}

interface SessionsOptions {
  readonly sessions: SessionStore;
  readonly users: Pick<UserStore, "findById" | "update">;
  /** Unix milliseconds. Replicas share the clock of their database. */
  readonly now: () => number;
}

export class Sessions {
  readonly #sessions: SessionStore;
  readonly #users: SessionsOptions["users"];
  readonly #now: SessionsOptions["now"];

  constructor({ sessions, users, now }: SessionsOptions) {
    this.#sessions = sessions;
    this.#users = users;
    this.#now = now;
  }

  /** Always a new token: a token that was set before the sign-in gains nothing (session fixation). */
  async issue(user: StoredUser, client: SessionClient): Promise<IssuedSession> {
    const at = this.#now();
    await this.#sessions.deleteExpired(at - idleMs, at - maxAgeMs, maxDeleted);
    await this.#users.update(user.id, { lastSignInAt: at });
    const token = randomToken();
    const stored = newSession({
      token,
      id: `session_${randomBytes(8).toString("hex")}`,
      address: client.address,
      userAgent: client.userAgent.slice(0, maxUserAgent),
      userId: user.id,
      csrfToken: randomToken(),
      signedInAt: at,
      at,
    });
    await this.#sessions.create(stored);
    await this.#refuseChangedUser(user);
    return { ...active(stored, user), token };
  }

  /**
   * Refuses a user who was deleted or disabled, or whose password has changed, during the sign-in. Checked after the
   * session is stored: a change that is not visible here ends the stored session.
   */
  async #refuseChangedUser({ id, passwordHash }: StoredUser): Promise<void> {
    const current = await this.#users.findById(id);
    if (current?.passwordHash === passwordHash && current.disabledAt === null) return;
    await this.#sessions.deleteOfUser(id);
    throw new GatewayError("invalid_credentials", message("user_changed"));
  }

  /** Undefined if the token is unknown, or its session has ended. */
  async find(token: string): Promise<ActiveSession | undefined> {
    const stored = await this.#sessions.find(secretHash(token));
    const at = this.#now();
    if (!stored || expiryOf(stored) <= at) return undefined;
    const user = await this.#users.findById(stored.userId);
    if (!user || user.disabledAt !== null) return undefined;
    if (at - stored.lastSeenAt > touchEveryMs) await this.#sessions.touch(stored.tokenHash, at);
    return active(stored, user);
  }

  /** A new token for a session whose token is older than an hour. Undefined if the token stays. */
  async rotate({ tokenHash, user }: ActiveSession): Promise<IssuedSession | undefined> {
    const stored = await this.#sessions.find(tokenHash);
    const at = this.#now();
    if (!stored || stored.replacedAt !== null || at - stored.issuedAt < rotateAfterMs)
      return undefined;
    const token = randomToken();
    // The CSRF token stays: pages that are open hold it in memory.
    const replacement = newSession({ ...stored, token, at });
    const isReplaced = await this.#sessions.replace(tokenHash, replacement);
    return isReplaced ? { ...active(replacement, user), token } : undefined;
  }

  /** The sessions of a user that have not ended. The session with the latest request is first. */
  async listOfUser(userId: string): Promise<readonly StoredSession[]> {
    const at = this.#now();
    return (await this.#sessions.listOfUser(userId)).filter((stored) => expiryOf(stored) > at);
  }

  /** False: the user has no such session. */
  endOne(userId: string, id: string): Promise<boolean> {
    return this.#sessions.deleteById(userId, id);
  }

  async endOfUser(userId: string, except?: string): Promise<void> {
    await this.#sessions.deleteOfUser(userId, except);
  }
}

const randomToken = (): string => randomBytes(32).toString("base64url");

interface NewSession
  extends Pick<
    StoredSession,
    "id" | "userId" | "csrfToken" | "signedInAt" | "address" | "userAgent"
  > {
  readonly token: string;
  readonly at: number;
}

const newSession = ({ token, at, ...session }: NewSession): StoredSession => ({
  ...session,
  tokenHash: secretHash(token),
  issuedAt: at,
  lastSeenAt: at,
  replacedAt: null,
});

const active = (stored: StoredSession, user: StoredUser): ActiveSession => ({
  id: stored.id,
  user,
  csrfToken: stored.csrfToken,
  tokenHash: stored.tokenHash,
  expiresAt: expiryOf(stored),
});

const expiryOf = ({ lastSeenAt, signedInAt, replacedAt }: StoredSession): number =>
  Math.min(
    lastSeenAt + idleMs,
    signedInAt + maxAgeMs,
    replacedAt === null ? Number.POSITIVE_INFINITY : replacedAt + rotationGraceMs,
  );
