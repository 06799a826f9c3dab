/** The settings of sign-in with OpenID Connect, read from the process settings. */
import { type Role, roles } from "../../../../contract/admin.ts";
import { commaList } from "../../../lib/comma-list.ts";

/** The process settings, by name. */
type OidcVariables = Readonly<
  Record<
    | "VEXEL_OIDC_ISSUER"
    | "VEXEL_OIDC_CLIENT_ID"
    | "VEXEL_OIDC_CLIENT_SECRET"
    | "VEXEL_OIDC_NAME"
    | "VEXEL_OIDC_SCOPES"
    | "VEXEL_OIDC_DOMAINS"
    | "VEXEL_OIDC_CLAIM"
    | "VEXEL_OIDC_REQUIRED"
    | "VEXEL_OIDC_ROLES"
    | "VEXEL_OIDC_PROJECTS",
    string
  >
> & {
  readonly VEXEL_OIDC_TRUST_EMAIL: "on" | "off";
  readonly VEXEL_OIDC_ROLE: Role | "none";
};

export interface OidcSettings {
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined for a public client, which is protected by PKCE only. */
  readonly clientSecret: string | undefined;
  /** Of the button on the sign-in page. */
  readonly name: string;
  readonly scopes: string;
  /** In lower case. Null for every domain. */
  readonly domains: ReadonlySet<string> | null;
  readonly trustEmail: boolean;
  /** The claim with the groups or roles of a user. */
  readonly claim: string;
  /** A user needs one of these values of the claim. Empty: no value is needed. */
  readonly required: readonly string[];
  /** Role by value of the claim. */
  readonly roles: ReadonlyMap<string, Role>;
  /** The role of users without a mapped role. Null if they are refused. */
  readonly defaultRole: Role | null;
  /** Projects by value of the claim. `*`: all projects. */
  readonly projects: ReadonlyMap<string, readonly string[]>;
}

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The first mistake in the settings, for the operator. Undefined if there is none, or OpenID Connect is off. */
export function oidcProblem(variables: OidcVariables): string | undefined {
  const { VEXEL_OIDC_ISSUER: issuer } = variables;
  if (issuer === "") return undefined;
  if (!URL.canParse(issuer)) return "VEXEL_OIDC_ISSUER must be a URL.";
  const { protocol, hostname } = new URL(issuer);
  if (protocol !== "https:" && !(protocol === "http:" && loopback.test(hostname))) {
    return "VEXEL_OIDC_ISSUER must be an https:// URL. Only an issuer on this machine may use http://.";
  }
  if (variables.VEXEL_OIDC_CLIENT_ID === "") {
    return "VEXEL_OIDC_ISSUER is set without VEXEL_OIDC_CLIENT_ID.";
  }
  if (variables.VEXEL_OIDC_DOMAINS === "" && variables.VEXEL_OIDC_REQUIRED === "") {
    return "Set VEXEL_OIDC_DOMAINS or VEXEL_OIDC_REQUIRED: otherwise everybody with an account at the issuer could sign in. VEXEL_OIDC_DOMAINS=* allows that.";
  }
  for (const [value, role] of pairsOf(variables.VEXEL_OIDC_ROLES)) {
    if (!isRole(role)) {
      return `VEXEL_OIDC_ROLES: "${value}=${role}" must name one of the roles ${roles.join(", ")}.`;
    }
  }
  const withoutProject = pairsOf(variables.VEXEL_OIDC_PROJECTS).find(([, project]) => !project);
  return (
    withoutProject &&
    `VEXEL_OIDC_PROJECTS: "${withoutProject[0]}" must have the form VALUE=PROJECT.`
  );
}

/** Undefined if OpenID Connect is off. */
export function readOidcSettings(variables: OidcVariables): OidcSettings | undefined {
  if (variables.VEXEL_OIDC_ISSUER === "") return undefined;
  const domains = commaList(variables.VEXEL_OIDC_DOMAINS).map((domain) => domain.toLowerCase());
  const projects = new Map<string, string[]>();
  for (const [value, project] of pairsOf(variables.VEXEL_OIDC_PROJECTS)) {
    projects.set(value, [...(projects.get(value) ?? []), project]);
  }
  return {
    issuer: new URL(variables.VEXEL_OIDC_ISSUER),
    clientId: variables.VEXEL_OIDC_CLIENT_ID,
    clientSecret: variables.VEXEL_OIDC_CLIENT_SECRET || undefined,
    name: variables.VEXEL_OIDC_NAME,
    scopes: variables.VEXEL_OIDC_SCOPES,
    domains: domains.length === 0 || domains.includes("*") ? null : new Set(domains),
    trustEmail: variables.VEXEL_OIDC_TRUST_EMAIL === "on",
    claim: variables.VEXEL_OIDC_CLAIM,
    required: commaList(variables.VEXEL_OIDC_REQUIRED),
    roles: new Map(
      pairsOf(variables.VEXEL_OIDC_ROLES).flatMap(([value, role]) =>
        isRole(role) ? [[value, role] as const] : [],
      ),
    ),
    defaultRole: variables.VEXEL_OIDC_ROLE === "none" ? null : variables.VEXEL_OIDC_ROLE,
    projects,
  };
}

const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** `VALUE=NAME` entries. A value may contain `=`, as the name of an LDAP group does. */
const pairsOf = (text: string): [value: string, name: string][] =>
  commaList(text).map((entry) => {
    const at = entry.lastIndexOf("=");
    return at < 0 ? [entry, ""] : [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
  });
