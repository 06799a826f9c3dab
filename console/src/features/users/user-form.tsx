/** The form of a console user: name, role and projects. A new user chooses the password with the link. */
import { useQuery } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import type { z } from "zod";
import { can, roles, type User } from "../../../../contract/admin.ts";
import { changedUserBody, newUserBody } from "../../../../contract/schemas/users.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { MultiComboboxField } from "../../ui/combobox-fields.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { projectsQuery } from "../projects/projects-query.ts";

interface UserFormProps {
  readonly user: User | undefined;
  readonly onSaved: (user: User) => unknown;
}

export function UserForm({ user, onSaved }: UserFormProps) {
  const t = useT();
  const { data } = useQuery(projectsQuery);
  const before = user && user.projects !== "all" ? user.projects : [];
  const form = useSchemaForm<z.input<typeof changedUserBody>>(
    user ? changedUserBody : newUserBody,
    {
      name: user?.name,
      role: user?.role ?? "developer",
      projects: user?.projects === "all" ? "all" : [...before],
    },
  );
  const role = useWatch({ control: form.control, name: "role" });
  const seesAll = useWatch({ control: form.control, name: "projects" }) === "all";
  const projects = [...new Set([...(data?.data.map(({ id }) => id) ?? []), ...before])];
  return (
    <Form
      form={form}
      {...(!user && { action: t("users.invite"), toast: false })}
      save={async ({ projects: chosen = [], ...body }) => {
        const path = user ? `/users/${user.id}` : "/users";
        const method = user ? "PATCH" : "POST";
        onSaved(await call<User>(path, { method, body: { ...body, projects: chosen } }));
      }}
    >
      <TextField
        name="name"
        label={t("users.name")}
        hint={user ? undefined : t("users.nameHint")}
        required
        autoComplete="off"
      />
      <SelectField
        name="role"
        label={t("users.role")}
        options={roles.map((each) => ({ value: each, label: t(`role.${each}`) }))}
      />
      {!can(role ?? "developer", "administer") && (
        <>
          {!seesAll && (
            <MultiComboboxField
              name="projects"
              label={t("users.projects")}
              hint={projects.length === 0 ? t("users.projects.none") : undefined}
              options={projects.map((project) => ({ value: project, label: project }))}
            />
          )}
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={seesAll}
              onChange={({ target }) =>
                form.setValue("projects", target.checked ? "all" : [...before], {
                  shouldDirty: true,
                })
              }
            />
            {t("users.seesAll")}
          </label>
        </>
      )}
    </Form>
  );
}
