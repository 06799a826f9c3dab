/** The form of a console user: name, password, role and projects. */
import { useQuery } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import type { z } from "zod";
import { minPasswordLength, roles, type User } from "../../../../contract/admin.ts";
import { changedUserBody, newUserBody } from "../../../../contract/schemas/users.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { SchemaForm, useSchemaForm } from "../../ui/form.tsx";
import { CheckList, SelectField, TextField } from "../../ui/form-fields.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { projectsQuery } from "../projects/projects-query.ts";

export function UserForm({ user, onSaved }: { user: User | undefined; onSaved: () => unknown }) {
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
  const seesAll = useWatch({ control: form.control, name: "projects" }) === "all";
  const projects = [...new Set([...(data?.data.map(({ id }) => id) ?? []), ...before])];
  return (
    <SchemaForm
      form={form}
      save={async (body) => {
        await call(user ? `/users/${user.id}` : "/users", {
          method: user ? "PATCH" : "POST",
          body,
        });
        await onSaved();
      }}
    >
      <TextField name="name" label={t("users.name")} required autoComplete="off" />
      <TextField
        name="password"
        label={t("signIn.password")}
        hint={
          user ? t("users.passwordHint") : t("setup.passwordHint", { count: minPasswordLength })
        }
        required={!user}
        type="password"
        autoComplete="new-password"
        read={String}
      />
      <SelectField
        name="role"
        label={t("users.role")}
        options={roles.map((role) => ({ value: role, label: t(`role.${role}`) }))}
      />
      {!seesAll && (
        <CheckList
          name="projects"
          label={t("users.projects")}
          hint={projects.length === 0 ? t("users.projects.none") : t("users.projectsHint")}
          options={projects.map((project) => ({
            value: project,
            label: <LongText text={project} />,
          }))}
        />
      )}
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={seesAll}
          onChange={({ target }) => form.setValue("projects", target.checked ? "all" : [...before])}
        />
        {t("users.seesAll")}
      </label>
    </SchemaForm>
  );
}
