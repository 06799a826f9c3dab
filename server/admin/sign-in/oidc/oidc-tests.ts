/**
 * Test sign-ins with OpenID Connect: what the claims of a person would give, without a session and without a change.
 * The issuer sends the browser back without the session of the administrator, so the result travels encrypted in the
 * fragment of the address, and only an administrator can read it.
 */

import { can, type OidcTest } from "../../../../contract/admin.ts";
import { message } from "../../../../contract/messages/message.ts";
import type { Message } from "../../../../contract/messages/message-format.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { SecretBox } from "../../../storage/encrypt-secret.ts";
import type { StoredUser, UserStore } from "../../../storage/sql/user-store.ts";
import { accessOf, type OidcAccess, valuesOf } from "./oidc-access.ts";
import type { OidcIdentity } from "./oidc-client.ts";
import type { OidcSettings } from "./oidc-settings.ts";

interface OidcTestsOptions {
  readonly settings: OidcSettings;
  readonly users: Pick<UserStore, "findByOidcSubject" | "findByName">;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const context = JSON.stringify(["oidc test"]);
const validMs = 10 * 60_000;
const maxValues = 100;

export type OidcTests = ReturnType<typeof createOidcTests>;

export function createOidcTests({ settings, users, secrets, now }: OidcTestsOptions) {
  const address = (result: OidcTest): string => {
    const sealed = secrets.encrypt(JSON.stringify({ result, until: now() + validMs }), context);
    return `/console/sign-in-settings#${sealed}`;
  };

  return {
    /** The page of the console that shows why the issuer has refused. */
    failed: (problem: string): string => address({ ...noAccess, problem }),

    /** The page of the console that shows what the person would get. */
    finished: async ({ subject, claims }: OidcIdentity): Promise<string> => {
      const access = accessOf(claims, settings);
      const values = [...valuesOf(claims, settings.claim)].slice(0, maxValues);
      const email = typeof claims.email === "string" ? claims.email : null;
      if ("text" in access) {
        return address({ ...noAccess, ...shown(access), email, values });
      }
      const user =
        (await users.findByOidcSubject(subject)) ?? (await users.findByName(access.email));
      return address({ ...resultOf(access, user, settings), email, values });
    },

    /** Throws GatewayError if the text is not a result, or is old. */
    read: (text: string): OidcTest => {
      const { result, until } = readSealed(text);
      if (until >= now()) return result;
      throw invalid(message("oidc_result_expired"));
    },
  };

  function readSealed(text: string): { result: OidcTest; until: number } {
    try {
      return JSON.parse(secrets.decrypt(text, context));
    } catch (cause) {
      throw invalid(message("foreign_oidc_result"), cause);
    }
  }
}

/** The result for an identity without access. */
const noAccess: Omit<OidcTest, "problem"> = {
  object: "oidc_test",
  email: null,
  values: [],
  role: null,
  projects: null,
  is_new: false,
};

function resultOf(
  { mappedRole, mappedProjects }: OidcAccess,
  user: StoredUser | undefined,
  settings: OidcSettings,
): OidcTest {
  const isMapped = settings.roles.size > 0 || user === undefined;
  const role = isMapped ? (mappedRole ?? settings.defaultRole) : user.role;
  const projects = settings.projects.size > 0 || !user ? mappedProjects : user.projects;
  return {
    ...noAccess,
    ...shown(problemOf(role, user?.disabledAt ?? null)),
    role,
    projects: role !== null && can(role, "administer") ? "all" : (projects ?? "all"),
    is_new: user === undefined,
  };
}

function problemOf(role: OidcTest["role"], disabledAt: number | null): Message | undefined {
  if (disabledAt !== null) return message("oidc_user_disabled");
  return role === null ? message("oidc_no_role") : undefined;
}

const shown = (problem: Message | undefined): Pick<OidcTest, "problem" | "i18n"> =>
  problem ? { problem: problem.text, i18n: problem.i18n } : { problem: null };

const invalid = (reason: Message, cause?: unknown): GatewayError =>
  new GatewayError("invalid_value", reason, { param: "result", cause });
