/**
 * The second factor of users with a password: a code of an authenticator app, or a recovery code. Each is accepted
 * once. The secret is encrypted at rest.
 */

import { message } from "../../../contract/messages/message.ts";
import type { Message } from "../../../contract/messages/message-format.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { StoredTotp, StoredUser, UserStore } from "../../storage/sql/user-store.ts";
import { matchingStep, newRecoveryCodes, newTotpSecret, normalizedCode, totpUri } from "./totp.ts";

interface SecondFactorOptions {
  readonly users: Pick<UserStore, "replaceTotp" | "update">;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt" | "isCurrent">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The name of the account in authenticator apps. */
const issuer = "Vexel";
/** Time to scan the QR code and to type the first code. */
const enrollmentMs = 15 * 60_000;

export type SecondFactor = ReturnType<typeof createSecondFactor>;

export function createSecondFactor({ users, secrets, now }: SecondFactorOptions) {
  const contextOf = (userId: string): string => JSON.stringify(["user", userId, "totp"]);
  const enrollmentContext = (userId: string): string => JSON.stringify(["enrollment", userId]);

  /** The state of the second factor after the code was used. Undefined if the code is wrong. */
  const afterUse = (totp: StoredTotp, typed: string, userId: string): StoredTotp | undefined => {
    const code = normalizedCode(typed);
    const recoveryHashes = totp.recoveryHashes.filter((hash) => hash !== secretHash(code));
    if (recoveryHashes.length < totp.recoveryHashes.length) return { ...totp, recoveryHashes };
    const secret = secrets.decrypt(totp.secret, contextOf(userId));
    const step = matchingStep(code, secret, now(), totp.step);
    if (step === undefined) return undefined;
    const isCurrent = secrets.isCurrent(totp.secret);
    return {
      ...totp,
      step,
      ...(!isCurrent && { secret: secrets.encrypt(secret, contextOf(userId)) }),
    };
  };

  return {
    /** Whether the user may sign in with this code. A code that was used before is refused. */
    async accept({ id, totp }: StoredUser, code: string): Promise<boolean> {
      if (!totp) return true;
      const after = afterUse(totp, code, id);
      return after !== undefined && (await users.replaceTotp(id, totp, after));
    },

    /** A new secret. It is stored once the user has typed a code of it: `enrollment` carries it until then. */
    begin({ id, name }: StoredUser) {
      const secret = newTotpSecret();
      const enrollment = JSON.stringify({ secret, until: now() + enrollmentMs });
      return {
        secret,
        uri: totpUri(secret, issuer, name),
        enrollment: secrets.encrypt(enrollment, enrollmentContext(id)),
      };
    },

    /** Turns the second factor on. Returns the recovery codes, which are shown once. */
    async enable(id: string, enrollment: string, code: string): Promise<string[]> {
      const { secret, until } = readEnrollment(enrollment, id);
      if (until < now()) throw invalid("enrollment", message("enrollment_expired"));
      const step = matchingStep(normalizedCode(code), secret, now(), 0);
      if (step === undefined) {
        throw invalid("code", message("code_not_current"));
      }
      const codes = newRecoveryCodes();
      const totp = {
        secret: secrets.encrypt(secret, contextOf(id)),
        step,
        recoveryHashes: hashesOf(codes),
      };
      await users.update(id, { totp });
      return codes;
    },

    /** Replaces the recovery codes. Undefined if the state has changed meanwhile. */
    async renewRecoveryCodes(id: string, totp: StoredTotp): Promise<string[] | undefined> {
      const codes = newRecoveryCodes();
      const isReplaced = await users.replaceTotp(id, totp, {
        ...totp,
        recoveryHashes: hashesOf(codes),
      });
      return isReplaced ? codes : undefined;
    },
  };

  function readEnrollment(enrollment: string, id: string): { secret: string; until: number } {
    try {
      return JSON.parse(secrets.decrypt(enrollment, enrollmentContext(id)));
    } catch (cause) {
      throw invalid("enrollment", message("foreign_enrollment"), cause);
    }
  }
}

const hashesOf = (codes: readonly string[]): string[] =>
  codes.map((code) => secretHash(normalizedCode(code)));

const invalid = (param: string, reason: Message, cause?: unknown): GatewayError =>
  new GatewayError("invalid_value", reason, { param, cause });
