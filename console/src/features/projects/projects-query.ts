import type { ProjectEntity } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";

/** Without the archived projects. */
export const projectsQuery = listQuery<ProjectEntity>("/projects");
export const archivedProjectsQuery = listQuery<ProjectEntity>("/projects", { archived: true });
