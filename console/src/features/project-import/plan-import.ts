/** What each line of a file of projects would change, before anything is sent. Also what a line sends. */
import { roleIn } from "../../../../contract/admin/roles.ts";
import type { ProjectEntity, ProjectValue, User } from "../../../../contract/admin.ts";
import { mailAddress } from "../../../../contract/schemas/names.ts";
import type { LineProblem, Member, ProjectLine, RefusedLine } from "./read-project-lines.ts";

/** Known at the time of the dry run. Projects with the archived ones. */
export interface Present {
  readonly projects: readonly ProjectEntity[];
  readonly users: readonly User[];
}

export interface MemberChange extends Member {
  /** The user does not exist: an invitation can be created later. */
  readonly isNew: boolean;
}

export interface ImportedLine {
  readonly kind: "created" | "changed" | "unchanged";
  readonly line: ProjectLine;
  /** The project before. Undefined if it is created. */
  readonly project: ProjectEntity | undefined;
  /** The project afterwards. Undefined if only its members change, or nothing. */
  readonly value: ProjectValue | undefined;
  readonly members: readonly MemberChange[];
}

export type PlanProblem =
  | LineProblem
  | { readonly kind: "readOnly"; readonly location: string }
  | { readonly kind: "noUser"; readonly value: string }
  | { readonly kind: "allProjects"; readonly value: string };

export type PlannedLine =
  | ImportedLine
  | {
      readonly kind: "refused";
      readonly line: Omit<RefusedLine, "problem">;
      readonly problem: PlanProblem;
    };

export function planImport(
  lines: readonly (ProjectLine | RefusedLine)[],
  { projects, users }: Present,
): readonly PlannedLine[] {
  const projectOf = new Map(projects.map((project) => [project.id, project]));
  const userOf = new Map(users.map((user) => [user.name.toLowerCase(), user]));
  /** Created by the lines before. */
  const created = new Set<string>();
  return lines.map((line) => {
    const refused = (problem: PlanProblem): PlannedLine => ({ kind: "refused", line, problem });
    if ("problem" in line) return refused(line.problem);
    const project = projectOf.get(line.name);
    const value = changedValue(project?.value ?? {}, line);
    if (value && project?.read_only)
      return refused({
        kind: "readOnly",
        location: project.origin.location ?? project.origin.source,
      });
    const members: MemberChange[] = [];
    for (const member of line.members) {
      const key = member.name.toLowerCase();
      const user = userOf.get(key);
      if (user?.projects === "all") return refused({ kind: "allProjects", value: user.name });
      const isNew = !user && !created.has(key);
      // Other names are more likely mistyped than new.
      if (isNew && !mailAddress.safeParse(member.name).success)
        return refused({ kind: "noUser", value: member.name });
      if (!user || !hasRole(user, line.name, member)) members.push({ ...member, isNew });
    }
    for (const { name, isNew } of members) if (isNew) created.add(name.toLowerCase());
    if (!project) return { kind: "created", line, project, value: value ?? {}, members };
    const kind = value || members.length > 0 ? "changed" : "unchanged";
    return { kind, line, project, value, members };
  });
}

/** Undefined if nothing of it changes. */
function changedValue(
  value: ProjectValue,
  { contact, month, requestsPerMinute }: ProjectLine,
): ProjectValue | undefined {
  const isSame =
    [undefined, value.contact].includes(contact) &&
    [undefined, value.budget?.month].includes(month) &&
    [undefined, value.limits?.requestsPerMinute].includes(requestsPerMinute);
  if (isSame) return undefined;
  return {
    ...value,
    ...(contact !== undefined && { contact }),
    ...(month !== undefined && { budget: { ...value.budget, month } }),
    ...(requestsPerMinute !== undefined && { limits: { ...value.limits, requestsPerMinute } }),
  };
}

/** A member without a role in the file keeps the own one. */
const hasRole = (user: User, project: string, { role }: Member): boolean =>
  user.projects.includes(project) &&
  (role === undefined ||
    roleIn({ role: user.role, project_roles: user.project_roles }, project) === role);
