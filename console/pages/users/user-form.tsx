import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { minPasswordLength, type Role, roles, type User } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError, showFormError } from "../../ui/form-error.tsx";
import { Input, Select } from "../../ui/input.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { projectsQuery } from "../projects/projects-query.ts";

interface Values {
  readonly name: string;
  readonly password: string;
  readonly role: Role;
  readonly seesAll: boolean;
}

export function UserForm({ user, onSaved }: { user: User | undefined; onSaved: () => unknown }) {
  const t = useT();
  const { register, handleSubmit, setError, formState, watch } = useForm<Values>({
    defaultValues: {
      name: user?.name ?? "",
      password: "",
      role: user?.role ?? "developer",
      seesAll: user?.projects === "all",
    },
  });
  const { data } = useQuery(projectsQuery);
  const before = user && user.projects !== "all" ? user.projects : [];
  const [chosen, setChosen] = useState<readonly string[]>(before);
  const projects = [...new Set([...(data?.data.map(({ id }) => id) ?? []), ...before])];
  const submit = handleSubmit(async ({ password, seesAll, ...values }) => {
    try {
      await call(user ? `/users/${user.id}` : "/users", {
        method: user ? "PATCH" : "POST",
        body: {
          ...values,
          projects: seesAll ? "all" : chosen,
          // An empty password of an existing user stays as it is.
          ...((!user || password !== "") && { password }),
        },
      });
      await onSaved();
    } catch (error) {
      showFormError(error, ["name", "password", "role"], setError);
    }
  });
  const { errors } = formState;
  return (
    <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
      <Field label={t("users.name")} error={errors.name?.message} required>
        {(ids) => <Input {...ids} {...register("name")} autoComplete="off" />}
      </Field>
      <Field
        label={t("signIn.password")}
        hint={
          user ? t("users.passwordHint") : t("setup.passwordHint", { count: minPasswordLength })
        }
        error={errors.password?.message}
        required={!user}
      >
        {(ids) => (
          <Input {...ids} {...register("password")} type="password" autoComplete="new-password" />
        )}
      </Field>
      <Field label={t("users.role")} error={errors.role?.message}>
        {(ids) => (
          <Select {...ids} {...register("role")}>
            {roles.map((role) => (
              <option key={role} value={role}>
                {t(`role.${role}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <fieldset className="flex flex-col gap-1" disabled={watch("seesAll")}>
        <legend className="mb-1 text-xs font-semibold">{t("users.projects")}</legend>
        <p className="text-xs text-muted">
          {projects.length === 0 ? t("users.projects.none") : t("users.projectsHint")}
        </p>
        {projects.map((project) => (
          <label key={project} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={chosen.includes(project)}
              onChange={({ target }) =>
                setChosen(
                  target.checked ? [...chosen, project] : chosen.filter((each) => each !== project),
                )
              }
            />
            <LongText text={project} />
          </label>
        ))}
      </fieldset>
      <label className="flex items-center gap-2 text-sm">
        <input type="checkbox" {...register("seesAll")} />
        {t("users.seesAll")}
      </label>
      <FormError message={errors.root?.message} />
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={formState.isSubmitting}>
          {t("action.save")}
        </Button>
      </div>
    </form>
  );
}
