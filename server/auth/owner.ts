/** The owner of what a client stores (files, jobs, webhook endpoints): the project of its API key, or the key itself. */
import type { Caller } from "../request/caller.ts";

/** Keys of one project see the same files. A key without a project sees only its own. */
export const ownerOf = ({ project, id }: Pick<Caller, "project" | "id">): string =>
  project === undefined ? `key:${id}` : `project:${project}`;
