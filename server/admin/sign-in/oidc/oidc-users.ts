/**
 * Finds or creates the user of an OpenID Connect identity (issuer and subject). If no user has the identity, it is
 * linked to the user whose name is its verified e-mail address, unless that user has another identity. If no user has
 * that name, a user is created; a name that is taken otherwise is refused. Only administrators create users with
 * passwords, so a user cannot prepare an account for another person.
 */
import { can } from "../../../../contract/admin/roles.ts";
import {
  LastAdministrator,
  rolesWithin,
  type StoredUser,
  type UserChanges,
  type UserStore,
} from "../../../storage/sql/user-store.ts";
import { newUser } from "../../new-user.ts";
import type { OidcAccess } from "./oidc-access.ts";
import type { OidcSettings } from "./oidc-settings.ts";

export interface OidcUser {
  readonly user: StoredUser;
  readonly change: "none" | "created" | "linked" | "updated";
  /** Undefined for a user that was created. */
  readonly before: StoredUser | undefined;
}

interface OidcUsersOptions {
  readonly users: UserStore;
  readonly settings: OidcSettings;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A string is the reason why the person may not sign in. */
export async function oidcUser(
  subject: string,
  access: OidcAccess,
  options: OidcUsersOptions,
): Promise<OidcUser | string> {
  const { users } = options;
  const known = await users.findByOidcSubject(subject);
  if (known) return update(known, access, options);
  const namesake = await users.findByName(access.email);
  if (!namesake) return create(subject, access, options);
  if (namesake.oidcSubject !== null) {
    return `the user ${namesake.name} belongs to another identity of the issuer`;
  }
  if (!access.isVerified) {
    return `the user ${namesake.name} exists, and the issuer does not say that the address is verified`;
  }
  await users.update(namesake.id, { oidcSubject: subject });
  const linked = await update({ ...namesake, oidcSubject: subject }, access, options);
  return typeof linked === "string" ? linked : { ...linked, change: "linked", before: namesake };
}

async function create(
  subject: string,
  { email, mappedRole, mappedProjects }: OidcAccess,
  { users, settings, now }: OidcUsersOptions,
): Promise<OidcUser | string> {
  const role = mappedRole ?? settings.defaultRole;
  if (role === null) return noRole;
  // Otherwise the one-time link, which works while there is no user, could no longer create the administrator.
  if (!can(role, "administer") && (await users.isEmpty())) {
    return "no administrator exists yet: the one-time link of the start message creates one";
  }
  const projects = can(role, "administer") ? null : mappedProjects;
  const user = newUser({
    name: email,
    role,
    projects,
    passwordHash: null,
    createdAt: now(),
    oidcSubject: subject,
  });
  if (!(await users.create(user))) return "the same person is signing in twice at this moment";
  return { user, change: "created", before: undefined };
}

const noRole = "no value of the claim has a role, and VEXEL_OIDC_ROLE is none";

/**
 * Role and projects follow the claims where the settings map them. Otherwise they are what an administrator has set.
 */
async function update(
  user: StoredUser,
  { mappedRole, mappedProjects }: OidcAccess,
  { users, settings }: OidcUsersOptions,
): Promise<OidcUser | string> {
  if (user.disabledAt !== null) return `the user ${user.name} is disabled`;
  const role = settings.roles.size > 0 ? (mappedRole ?? settings.defaultRole) : user.role;
  if (role === null) return noRole;
  const mapped = settings.projects.size > 0 ? mappedProjects : user.projects;
  const projects = can(role, "administer") ? null : mapped;
  const changes: UserChanges = {
    role,
    projects,
    projectRoles: rolesWithin(user.projectRoles, projects),
  };
  if (role === user.role && JSON.stringify(projects) === JSON.stringify(user.projects)) {
    return { user, change: "none", before: user };
  }
  try {
    await users.update(user.id, changes);
  } catch (error) {
    if (!(error instanceof LastAdministrator)) throw error;
    return `the user ${user.name} is the last administrator, and the claim gives the role ${role}`;
  }
  return { user: { ...user, ...changes }, change: "updated", before: user };
}
