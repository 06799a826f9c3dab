/** The sender of an admin API request, with its roles and projects, which decide what it may do. */
import {
  type Capability,
  can,
  canIn,
  canSomewhere,
  type Role,
  rolesWith,
  type UserRoles,
} from "../../contract/admin.ts";
import { message } from "../../contract/messages/message.ts";
import { GatewayError } from "../lib/gateway-error.ts";

export interface Actor extends UserRoles {
  /** For the audit log: the user's name, or `admin token`. */
  readonly name: string;
  /** `null`: the admin token. */
  readonly userId: string | null;
  readonly role: Role;
  /** The projects that the actor may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
}

/** Scripts with the admin token may do everything. */
export const adminTokenActor: Actor = {
  name: "admin token",
  userId: null,
  role: "admin",
  project_roles: {},
  projects: null,
};

/**
 * The actor with the projects in which it has the capability. Throws if it has it in none. No role in single projects
 * is enough to administer, or for what concerns all projects.
 */
export function withCapability(
  actor: Actor,
  needed: Capability,
  scope: "gateway" | "project" | "all-projects",
): Actor {
  const { role, projects } = actor;
  const isGeneral = needed === "administer" || scope === "all-projects";
  if (!(isGeneral ? can(role, needed) : canSomewhere(actor, needed))) {
    const [least = ""] = rolesWith(needed);
    throw new GatewayError("permission_denied", message("role_needed", { needed: least, role }));
  }
  if (projects === null) return actor;
  return { ...actor, projects: projects.filter((project) => canIn(actor, project, needed)) };
}

/** Throws unless the actor sees all projects. For data that cannot be separated by project. */
export function requireAllProjects({ projects }: Actor): void {
  if (projects === null) return;
  throw new GatewayError("permission_denied", message("all_projects_needed"));
}

/** The actor with this project only. If it is absent, with all projects of the actor. */
export const inProject = (actor: Actor, project: string | undefined): Actor =>
  project === undefined
    ? actor
    : { ...actor, projects: [project].filter((each) => maySeeProject(actor, each)) };

/** Whether the actor may see the data of a project. Data without a project is for actors that see all projects. */
export const maySeeProject = ({ projects }: Actor, project: string | null): boolean =>
  projects === null || (project !== null && projects.includes(project));
