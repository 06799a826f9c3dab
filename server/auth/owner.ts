/**
 * The owner of what a client stores (files, jobs, webhook endpoints): the project of its API key, or the key itself.
 */
import type { Caller } from "../request/caller.ts";

/** Keys of one project see the same files. A key without a project sees only its own. */
export const ownerOf = ({ project, id }: Pick<Caller, "project" | "id">): string =>
  project === undefined ? `key:${id}` : ownerOfProject(project);

export const ownerOfProject = (project: string): string => `project:${project}`;

/** Null if the owner is an API key without a project. */
export const projectOfOwner = (owner: string): string | null =>
  owner.startsWith("project:") ? owner.slice("project:".length) : null;
