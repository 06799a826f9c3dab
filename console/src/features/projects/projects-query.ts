import type { ProjectEntity } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";

export const projectsQuery = listQuery<ProjectEntity>("/projects");
