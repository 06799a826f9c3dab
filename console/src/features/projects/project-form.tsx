/** The form of a project: its limits, its budget, those of its end users and tags, and its members. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectEntity, User } from "../../../../contract/admin.ts";
import { membersBody, project as projectSchema } from "../../../../contract/schemas/keys.ts";
import { call } from "../../api/client.ts";
import { saveEntity } from "../../api/entities.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { MultiComboboxField } from "../../ui/combobox-fields.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { BudgetFields, budgetValues, LimitFields } from "../../ui/limit-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { EndUserAndTagFields } from "./end-user-and-tag-fields.tsx";
import {
  endUserAndTagEntries,
  endUserAndTagMembers,
  endUsersAndTagsSchema,
} from "./end-user-and-tag-values.ts";

const usersQuery = listQuery<User>("/users");
/** A project and its members are two requests. */
const schema = projectSchema
  .omit({ perEndUser: true, perTag: true })
  .extend({ endUsersAndTags: endUsersAndTagsSchema, ...membersBody.partial().shape });

interface ProjectFormProps {
  readonly project: ProjectEntity | undefined;
  readonly onSaved: () => unknown;
}

export function ProjectForm({ project, onSaved }: ProjectFormProps) {
  const t = useT();
  const { data } = useQuery(usersQuery);
  const [stored, setStored] = useState(project);
  const form = useSchemaForm(schema, {
    name: project?.id ?? "",
    limits: project?.value.limits ?? {},
    budget: budgetValues(project?.value.budget),
    endUsersAndTags: endUserAndTagEntries(project?.value),
    contact: project?.value.contact,
    archived: project?.value.archived,
    users: project?.members.map(({ id }) => id) ?? [],
  });
  const isLocked = stored?.read_only ?? false;
  return (
    <Form
      form={form}
      save={async ({ users = [], endUsersAndTags, name, ...own }) => {
        const value = { ...own, ...endUserAndTagMembers(endUsersAndTags) };
        const body = stored ? value : { name, ...value };
        // The members of a project of the configuration file can be changed, but not the project.
        const saved =
          isLocked && stored ? stored : await saveEntity<ProjectEntity>("/projects", stored, body);
        setStored(saved);
        await call(`/projects/${encodeURIComponent(saved.id)}/members`, {
          method: "PUT",
          body: { users },
        });
        await onSaved();
      }}
    >
      <TextField name="name" label={t("projects.name")} required disabled={stored !== undefined} />
      {!isLocked && (
        <>
          <LimitFields />
          <BudgetFields />
          <EndUserAndTagFields />
          <TextField
            name="contact"
            type="email"
            label={t("projects.contact")}
            hint={t("projects.contactHint")}
          />
        </>
      )}
      <MultiComboboxField
        name="users"
        label={t("projects.members")}
        hint={t("projects.membersHint")}
        options={(data?.data ?? [])
          .filter(({ projects }) => projects !== "all")
          .map(({ id, name }) => ({ value: id, label: name }))}
      />
    </Form>
  );
}
