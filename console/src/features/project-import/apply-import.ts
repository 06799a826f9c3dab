/** Sends what a line changes: the project first, then its members, each with an entry of its own in the audit log. */
import type { ProjectEntity, User } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { saveEntity } from "../../api/entities.ts";
import type { ImportedLine, MemberChange } from "./plan-import.ts";

/** Throws ApiError. What was sent before stays: the same file can be applied again. */
export async function applyLine({ project, value, line, members }: ImportedLine): Promise<void> {
  if (value) {
    const body = project ? value : { name: line.name, ...value };
    await saveEntity<ProjectEntity>("/projects", project, body);
  }
  for (const member of members) await addMember(line.name, member);
}

async function addMember(project: string, { name, role, isNew }: MemberChange): Promise<void> {
  if (isNew) {
    const roles = role === undefined ? {} : { [project]: role };
    const body = { name, role: "viewer", projects: [project], project_roles: roles };
    await call<User>("/users", { method: "POST", body });
    return;
  }
  const path = `/projects/${encodeURIComponent(project)}/members/${encodeURIComponent(name)}`;
  await call(path, { method: "PUT", body: { role: role ?? null } });
}
