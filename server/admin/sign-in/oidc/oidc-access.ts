/**
 * What the claims of an identity allow: whether the person may sign in, under which name, with which role and projects.
 */
import { type Role, roles } from "../../../../contract/admin.ts";
import { message } from "../../../../contract/messages/message.ts";
import type { Message } from "../../../../contract/messages/message-format.ts";
import type { OidcSettings } from "./oidc-settings.ts";

export type Claims = Readonly<Record<string, unknown>>;

export interface OidcAccess {
  /** In lower case. */
  readonly email: string;
  /** The issuer itself says that the person owns the address. */
  readonly isVerified: boolean;
  /** Undefined if no value of the claim has a role. */
  readonly mappedRole: Role | undefined;
  /** Null for all projects. */
  readonly mappedProjects: readonly string[] | null;
}

/**
 * The claims of the ID token and of the user info. The address and whether it is verified are of one source: one may
 * name a verified address, and the other an address that the person has typed in.
 */
export function joinClaims(idToken: Claims, userInfo: Claims): Claims {
  const sources = [idToken, userInfo].filter(({ email }) => email !== undefined);
  const source = sources.find((claims) => claims.email_verified !== undefined) ?? sources[0] ?? {};
  const { email, email_verified } = source;
  return { ...idToken, ...userInfo, email, email_verified };
}

/** A message is the reason why the person may not sign in. */
export function accessOf(claims: Claims, settings: OidcSettings): OidcAccess | Message {
  const email = typeof claims.email === "string" ? claims.email.trim().toLowerCase() : "";
  if (!/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) return message("oidc_no_email");
  // An address that the person has only typed in would let them sign in as somebody else.
  const isVerified = claims.email_verified === true;
  const isTrusted = settings.trustEmail && claims.email_verified === undefined;
  if (!isVerified && !isTrusted) return message("oidc_email_unverified", { email });
  const domain = email.slice(email.lastIndexOf("@") + 1);
  if (settings.domains && !settings.domains.has(domain)) {
    return message("oidc_other_domain", { domain });
  }
  const values = valuesOf(claims, settings.claim);
  if (settings.required.length > 0 && !settings.required.some((value) => values.has(value))) {
    return message("oidc_required_missing", { claim: settings.claim });
  }
  return {
    email,
    isVerified,
    mappedRole: highestRole(values, settings.roles),
    mappedProjects: projectsOf(values, settings.projects),
  };
}

/** The claim may be a text or a list of texts, and its name a path, such as `realm_access.roles`. */
export function valuesOf(claims: Claims, name: string): ReadonlySet<string> {
  const value = Object.hasOwn(claims, name)
    ? claims[name]
    : name.split(".").reduce<unknown>(memberOf, claims);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return new Set(list.filter((entry) => typeof entry === "string"));
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Claims)[name]
    : undefined;

const highestRole = (
  values: ReadonlySet<string>,
  mapping: ReadonlyMap<string, Role>,
): Role | undefined => {
  const mapped = new Set([...values].map((value) => mapping.get(value)));
  return roles.findLast((role) => mapped.has(role));
};

function projectsOf(
  values: ReadonlySet<string>,
  mapping: ReadonlyMap<string, readonly string[]>,
): readonly string[] | null {
  const projects = [...values].flatMap((value) => mapping.get(value) ?? []);
  return projects.includes("*") ? null : [...new Set(projects)].sort();
}
