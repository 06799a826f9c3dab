import { useForm } from "react-hook-form";
import { minPasswordLength, type Role, roles, type User } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError, showFormError } from "../../ui/form-error.tsx";
import { Input, Select } from "../../ui/input.tsx";

interface Values {
  readonly name: string;
  readonly password: string;
  readonly role: Role;
  readonly seesAll: boolean;
  /** Separated by commas. */
  readonly projects: string;
}

const namesIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

export function UserForm({ user, onSaved }: { user: User | undefined; onSaved: () => unknown }) {
  const t = useT();
  const { register, handleSubmit, setError, formState, watch } = useForm<Values>({
    defaultValues: {
      name: user?.name ?? "",
      password: "",
      role: user?.role ?? "developer",
      seesAll: user?.projects === "all",
      projects: user && user.projects !== "all" ? user.projects.join(", ") : "",
    },
  });
  const submit = handleSubmit(async ({ password, seesAll, projects, ...values }) => {
    try {
      await call(user ? `/users/${user.id}` : "/users", {
        method: user ? "PATCH" : "POST",
        body: {
          ...values,
          projects: seesAll ? "all" : namesIn(projects),
          // An empty password of an existing user stays as it is.
          ...((!user || password !== "") && { password }),
        },
      });
      await onSaved();
    } catch (error) {
      showFormError(error, ["name", "password", "role", "projects"], setError);
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
      <Field
        label={t("users.projects")}
        hint={t("users.projectsHint")}
        error={errors.projects?.message}
      >
        {(ids) => <Input {...ids} {...register("projects")} disabled={watch("seesAll")} />}
      </Field>
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
