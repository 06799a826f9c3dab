/** Role-based access control (RBAC): what each role of the users of the console may do. */

/**
 * Each route of the admin API and each page of the console needs one.
 * - `view`: read models, and requests, usage and jobs of the own projects, without their content.
 * - `develop`: manage API keys and jobs of the own projects, and use the playgrounds.
 * - `administer`: everything else, such as upstreams, users and settings, with all projects.
 */
export const capabilities = ["view", "develop", "administer"] as const;
export type Capability = (typeof capabilities)[number];

const capabilitiesOf = {
  viewer: ["view"],
  developer: ["view", "develop"],
  admin: ["view", "develop", "administer"],
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
