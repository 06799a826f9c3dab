/** Role-based access control (RBAC): what each role of the users of the console may do. */

/**
 * Each route of the admin API and each page of the console needs one.
 * - `view`: read models, and requests, usage, budgets and statements of the own projects, without their content.
 * - `bill`: change the budgets of the own projects, and of their end users and tags.
 * - `develop`: manage API keys and jobs of the own projects, and use the playgrounds.
 * - `lead`: manage the members of the own projects.
 * - `administer`: everything else, such as upstreams, users and settings, with all projects.
 */
export const capabilities = ["view", "bill", "develop", "lead", "administer"] as const;
export type Capability = (typeof capabilities)[number];

const capabilitiesOf = {
  viewer: ["view"],
  billing: ["view", "bill"],
  developer: ["view", "develop"],
  lead: ["view", "develop", "lead"],
  admin: capabilities,
} as const satisfies Record<string, readonly Capability[]>;

export type Role = keyof typeof capabilitiesOf;

/** From the least to the most. */
export const roles = Object.keys(capabilitiesOf) as [Role, ...Role[]];

/** A role that this version does not know, such as one of a later version, may do nothing. */
export const can = (role: string, capability: Capability): boolean =>
  Object.hasOwn(capabilitiesOf, role) &&
  (capabilitiesOf[role as Role] as readonly Capability[]).includes(capability);

/** The roles that have the capability. */
export const rolesWith = (capability: Capability): readonly Role[] =>
  roles.filter((role) => can(role, capability));

/** The roles that a user may have in one project instead of the general one: an administrator has all projects. */
export const projectRoles = roles.filter((role) => !can(role, "administer")) as [Role, ...Role[]];

/** The general role of a user, and those in single projects. */
export interface UserRoles {
  readonly role: string;
  readonly project_roles: Readonly<Record<string, string>>;
}

/** The role of the user in a project that the user sees. */
export const roleIn = ({ role, project_roles }: UserRoles, project: string): string =>
  Object.hasOwn(project_roles, project) ? (project_roles[project] ?? role) : role;

/** Whether the user has the capability in the project. */
export const canIn = (user: UserRoles, project: string, capability: Capability): boolean =>
  can(roleIn(user, project), capability);

/** Whether the user has the capability, in general or in any project. */
export const canSomewhere = (user: UserRoles | undefined, capability: Capability): boolean =>
  user !== undefined &&
  [user.role, ...Object.values(user.project_roles)].some((role) => can(role, capability));

/** Whether the first role may do all that the second one may: nobody gives more than they have. */
export const includesRole = (role: string, other: string): boolean =>
  capabilities.every((each) => can(role, each) || !can(other, each));
