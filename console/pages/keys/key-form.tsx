import { useForm } from "react-hook-form";
import type { CreatedApiKey } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError, showFormError } from "../../ui/form-error.tsx";
import { Input } from "../../ui/input.tsx";

interface Values {
  readonly name: string;
  readonly project: string;
  readonly models: string;
  readonly expires: string;
  readonly requestsPerMinute: string;
  readonly budgetPerMonth: string;
}

const fields = [
  "name",
  "project",
  "models",
  "expires",
  "requestsPerMinute",
  "budgetPerMonth",
] as const;

/** Members of empty inputs are absent. */
const bodyOf = (values: Values) => ({
  name: values.name.trim(),
  models: values.models
    .split(",")
    .map((glob) => glob.trim())
    .filter((glob) => glob !== ""),
  ...(values.project.trim() !== "" && { project: values.project.trim() }),
  ...(values.expires !== "" && { expires: values.expires }),
  ...(values.requestsPerMinute !== "" && {
    limits: { requestsPerMinute: Number(values.requestsPerMinute) },
  }),
  ...(values.budgetPerMonth !== "" && { budget: { month: Number(values.budgetPerMonth) } }),
});

export function KeyForm({ onCreated }: { onCreated: (key: CreatedApiKey) => unknown }) {
  const t = useT();
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: {
      name: "",
      project: "",
      models: "*",
      expires: "",
      requestsPerMinute: "",
      budgetPerMonth: "",
    },
  });
  const submit = handleSubmit(async (values) => {
    try {
      await onCreated(await call<CreatedApiKey>("/keys", { method: "POST", body: bodyOf(values) }));
    } catch (error) {
      showFormError(error, fields, setError);
    }
  });
  const { errors } = formState;
  return (
    <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
      <Field label={t("keys.name")} error={errors.name?.message} required>
        {(ids) => <Input {...ids} {...register("name")} />}
      </Field>
      <Field label={t("keys.project")} error={errors.project?.message}>
        {(ids) => <Input {...ids} {...register("project")} />}
      </Field>
      <Field label={t("keys.models")} hint={t("keys.modelsHint")} error={errors.models?.message}>
        {(ids) => <Input {...ids} {...register("models")} />}
      </Field>
      <Field label={t("keys.expires")} error={errors.expires?.message}>
        {(ids) => <Input {...ids} {...register("expires")} type="date" />}
      </Field>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t("keys.requestsPerMinute")} error={errors.requestsPerMinute?.message}>
          {(ids) => <Input {...ids} {...register("requestsPerMinute")} type="number" min={1} />}
        </Field>
        <Field label={t("keys.budgetPerMonth")} error={errors.budgetPerMonth?.message}>
          {(ids) => (
            <Input {...ids} {...register("budgetPerMonth")} type="number" min={0} step="any" />
          )}
        </Field>
      </div>
      <FormError message={errors.root?.message} />
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={formState.isSubmitting}>
          {t("action.create")}
        </Button>
      </div>
    </form>
  );
}
