/** The form of a project: its limits, its budget and its members. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectEntity, User } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { saveEntity } from "../../api/entities.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { textsOf } from "../../lib/text-values.ts";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import {
  BudgetFields,
  budgetIn,
  budgetNames,
  LimitFields,
  limitNames,
  limitsIn,
} from "../../ui/limit-fields.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";

const usersQuery = listQuery<User>("/users");

interface ProjectFormProps {
  readonly project: ProjectEntity | undefined;
  readonly onSaved: () => unknown;
}

export function ProjectForm({ project, onSaved }: ProjectFormProps) {
  const t = useT();
  const { data: users } = useQuery(usersQuery);
  const [stored, setStored] = useState(project);
  const [name, setName] = useState(project?.id ?? "");
  const [limits, setLimits] = useState(() => textsOf(project?.value.limits));
  const [budget, setBudget] = useState(() => textsOf(project?.value.budget));
  const [members, setMembers] = useState<readonly string[]>(
    () => project?.members.map(({ id }) => id) ?? [],
  );
  const problem = useFormProblem([
    ...["name", "users"],
    ...limitNames.map((each) => `limits.${each}`),
    ...budgetNames.map((each) => `budget.${each}`),
  ]);
  const isLocked = stored?.read_only ?? false;
  const value = () => {
    const limit = limitsIn(limits);
    const amounts = budgetIn(budget);
    return { ...(limit && { limits: limit }), ...(amounts && { budget: amounts }) };
  };
  const save = async (): Promise<void> => {
    const body = stored ? value() : { name: name.trim(), ...value() };
    // The members of a project of the configuration file can be changed, but not the project.
    const saved =
      isLocked && stored ? stored : await saveEntity<ProjectEntity>("/projects", stored, body);
    setStored(saved);
    await call(`/projects/${encodeURIComponent(saved.id)}/members`, {
      method: "PUT",
      body: { users: members },
    });
    await onSaved();
  };
  const restricted = users?.data.filter(({ projects }) => projects !== "all") ?? [];
  return (
    <EntityForm problem={problem} save={save} message={problem.other ?? problem.of("users")}>
      <Field label={t("projects.name")} required error={problem.of("name")}>
        {(ids) => (
          <Input
            {...ids}
            value={name}
            disabled={stored !== undefined}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      {!isLocked && (
        <>
          <LimitFields texts={limits} onChange={setLimits} problem={problem} />
          <BudgetFields texts={budget} onChange={setBudget} problem={problem} />
        </>
      )}
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 text-xs font-semibold">{t("projects.members")}</legend>
        <p className="text-xs text-muted">{t("projects.membersHint")}</p>
        {restricted.map((user) => (
          <label key={user.id} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={members.includes(user.id)}
              onChange={({ target }) =>
                setMembers(
                  target.checked
                    ? [...members, user.id]
                    : members.filter((member) => member !== user.id),
                )
              }
            />
            {user.name}
          </label>
        ))}
      </fieldset>
    </EntityForm>
  );
}
