/** The form of an API key: its project, models, expiry, limits and budget. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import { canIn, canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ApiKey, CreatedApiKey } from "../../../../contract/admin.ts";
import { type ModelKind, modelKinds } from "../../../../contract/model-kinds.ts";
import { keyBody } from "../../../../contract/schemas/keys.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { endOfDay, localDay, timeZone } from "../../lib/time.ts";
import { ComboboxField } from "../../ui/combobox-fields.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { BudgetFields, budgetValues, LimitFields } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { optionsOf } from "../../ui/select.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { projectsQuery } from "../projects/projects-query.ts";
import { KeyModelsField } from "./key-models-field.tsx";

const dayOf = (key: ApiKey | undefined): string | undefined =>
  key?.expires_at ? localDay(new Date(key.expires_at)) : undefined;

const valuesOf = (key: ApiKey) => ({
  name: key.name,
  models: [...key.models],
  project: key.project ?? undefined,
  expires: dayOf(key),
  priority: key.priority === "batch" ? ("batch" as const) : undefined,
  parameters: key.parameters ?? undefined,
  showCost: key.show_cost || undefined,
  defaults: {
    embedding: key.defaults.embedding ?? undefined,
    image: key.defaults.image ?? undefined,
  },
  limits: key.limits ?? {},
  budget: budgetValues(key.budget ?? undefined),
});

interface KeyFormProps<Saved> {
  /** The default is a new key. */
  readonly apiKey: ApiKey | undefined;
  readonly onSaved: (saved: Saved) => unknown;
}

export function KeyForm<Saved extends ApiKey | CreatedApiKey>({
  apiKey,
  onSaved,
}: KeyFormProps<Saved>) {
  const t = useT();
  const { data: projects } = useQuery(projectsQuery);
  const { data: models } = useQuery(modelsQuery);
  const { data: session } = useSuspenseQuery(sessionQuery);
  // A key of a user who is restricted to projects must belong to one of them.
  const user = session?.user;
  const own = user?.projects?.filter((project) => canIn(user, project, "develop"));
  const [ownProject] = own ?? [];
  // What an administrator set is an upper bound for other users. The lock also holds the project, models and expiry.
  const locked = canSomewhere(user, "administer") ? {} : (apiKey?.locked ?? {});
  const isLocked = Object.keys(locked).length > 0;
  const form = useSchemaForm(
    keyBody,
    apiKey ? valuesOf(apiKey) : { models: ["*"], project: ownProject },
  );
  const { control } = form;
  const expires = useWatch({ control, name: "expires" });
  const modelsOf = (kind: ModelKind) =>
    models?.data.filter((model) => model.kind === kind).map(({ id }) => id) ?? [];
  return (
    <Form
      form={form}
      action={apiKey ? t("action.save") : t("action.create")}
      save={async ({ expires: day, ...values }) => {
        // The form shows the day only: an unchanged day keeps its time.
        const time = day === dayOf(apiKey) ? apiKey?.expires_at : day && endOfDay(day);
        const body = { ...values, ...(time && { expires: time }) };
        const saved = apiKey
          ? call<Saved>(`/keys/${apiKey.id}`, {
              method: "PUT",
              body,
              ...(apiKey.version !== null && { version: apiKey.version }),
            })
          : call<Saved>("/keys", { method: "POST", body });
        await onSaved(await saved);
      }}
    >
      {isLocked && <p className="rounded-md bg-sunken p-3 text-muted">{t("keys.locked")}</p>}
      <TextField name="name" label={t("keys.name")} required />
      <ComboboxField
        name="project"
        disabled={isLocked}
        label={t("keys.project")}
        options={[
          ...(ownProject === undefined ? [{ value: "", label: t("keys.noProject") }] : []),
          ...optionsOf(own ?? projects?.data.map(({ id }) => id) ?? []),
        ]}
      />
      <KeyModelsField name="models" />
      <TextField
        name="expires"
        label={t("keys.expires")}
        hint={t("keys.expiresHint", { zone: timeZone() })}
        type="date"
        min={expires === dayOf(apiKey) ? undefined : localDay(new Date())}
      />
      <More label={t("keys.more")}>
        <LimitFields locked={locked} />
        <BudgetFields locked={locked} />
        <SelectField
          name="priority"
          label={t("keys.priority")}
          options={[
            { value: "", label: t("keys.priority.normal") },
            { value: "batch", label: t("keys.priority.batch") },
          ]}
        />
        {canSomewhere(user, "administer") && (
          <SelectField
            name="showCost"
            label={t("models.form.showCost")}
            hint={t("keys.showCostHint")}
            read={(value) => value === "true"}
            options={[
              { value: "", label: t("keys.showCostOfModel") },
              { value: "true", label: t("models.form.yes") },
            ]}
          />
        )}
        <SelectField
          name="parameters"
          label={t("models.form.parameters")}
          hint={t("models.form.parametersHint")}
          options={[
            { value: "", label: t("keys.parametersOfModel") },
            ...(["adapt", "strict", "drop", "pass"] as const).map((value) => ({
              value,
              label: t(`keys.parameters.${value}`),
            })),
          ]}
        />
        {modelKinds.map((kind) => (
          <ComboboxField
            key={kind}
            name={`defaults.${kind}`}
            label={t(kind === "embedding" ? "keys.defaultEmbedding" : "keys.defaultImage")}
            options={[{ value: "", label: t("upstreams.default") }, ...optionsOf(modelsOf(kind))]}
          />
        ))}
      </More>
    </Form>
  );
}
