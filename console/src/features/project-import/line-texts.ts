/** The lines of a file of projects in words: what each changes, or why it is refused. */
import { projectRoles } from "../../../../contract/admin/roles.ts";
import type { Translate } from "../../i18n/messages.ts";
import { count, dollars } from "../../lib/format.ts";
import type { useManyProjectsText } from "../projects/many-projects-text.ts";
import type { Outcome } from "../projects/outcomes.tsx";
import type { PlannedLine, PlanProblem } from "./plan-import.ts";
import { type FileProblem, maxLines } from "./read-project-lines.ts";

type ImportText = ReturnType<typeof useManyProjectsText>;

export function plannedOutcome(planned: PlannedLine, text: ImportText, t: Translate): Outcome {
  const { kind, line } = planned;
  const shown = { kind, line: line.line, name: line.name };
  if (planned.kind === "refused") return { ...shown, reason: problemText(planned.problem, text) };
  const { contact, month, requestsPerMinute } = planned.line;
  const before = planned.project?.value ?? {};
  const changes = [
    ...(contact === undefined || contact === before.contact
      ? []
      : [text("import.change.contact", { value: contact })]),
    ...(month === undefined || month === before.budget?.month
      ? []
      : [text("import.change.month", { value: dollars(month) })]),
    ...(requestsPerMinute === undefined || requestsPerMinute === before.limits?.requestsPerMinute
      ? []
      : [text("import.change.requestsPerMinute", { value: count(requestsPerMinute) })]),
    ...planned.members.map(({ name, role, isNew }) => {
      const known = isNew ? "new" : "known";
      return role === undefined
        ? text(`import.member.${known}`, { name })
        : text(`import.member.${known}As`, { name, role: t(`role.${role}`) });
    }),
  ];
  return { ...shown, ...(changes.length > 0 && { changes: changes.join(", ") }) };
}

export function problemText(problem: PlanProblem | FileProblem, text: ImportText): string {
  const { kind, ...values } = problem;
  if (problem.kind === "column")
    return text(`import.bad.${problem.column}`, { value: problem.value });
  return text(`import.bad.${problem.kind}`, {
    ...values,
    roles: projectRoles.join(", "),
    max: maxLines,
  });
}
