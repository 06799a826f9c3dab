/** Role-based access control (RBAC): the roles of the users of the console. */

/** What a user of the console may do. Each role includes the earlier ones. */
export const roles = ["viewer", "developer", "admin"] as const;
export type Role = (typeof roles)[number];
