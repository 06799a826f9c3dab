/** The form of an API key: its project, models, expiry, limits and budget. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey, CreatedApiKey } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { type Texts, textsOf } from "../../lib/text-values.ts";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, Select } from "../../ui/input.tsx";
import {
  BudgetFields,
  budgetIn,
  budgetNames,
  LimitFields,
  limitNames,
  limitsIn,
} from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";
import { modelsQuery } from "../models/models-query.ts";
import { projectsQuery } from "../projects/projects-query.ts";

/** Members of empty inputs are absent. */
function bodyOf(texts: Texts, limits: Texts, budget: Texts, before: ApiKey | undefined): object {
  const { name = "", models = "", project, expires, priority, embedding, image } = texts;
  const limit = limitsIn(limits);
  const amounts = budgetIn(budget);
  const globs = models.split(",").map((glob) => glob.trim());
  const isSameDay = expires !== "" && expires === dayOf(before);
  return {
    name: name.trim(),
    models: globs.filter((glob) => glob !== ""),
    ...(project && { project }),
    // The form shows the day only: an unchanged day keeps its time.
    ...(expires && { expires: isSameDay ? before?.expires_at : expires }),
    ...(priority === "batch" && { priority }),
    ...(before?.parameters && { parameters: before.parameters }),
    ...((embedding || image) && {
      defaults: { ...(embedding && { embedding }), ...(image && { image }) },
    }),
    ...(limit && { limits: limit }),
    ...(amounts && { budget: amounts }),
  };
}

const dayOf = (key: ApiKey | undefined): string => key?.expires_at?.slice(0, 10) ?? "";

const textsIn = (key: ApiKey): Texts => ({
  ...textsOf(key),
  ...textsOf(key.defaults),
  models: key.models.join(", "),
  expires: dayOf(key),
});

interface KeyFormProps<Saved> {
  /** Undefined: a new key. */
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
  const [texts, setTexts] = useState<Texts>(() => (apiKey ? textsIn(apiKey) : { models: "*" }));
  const [limits, setLimits] = useState<Texts>(() => textsOf(apiKey?.limits ?? undefined));
  const [budget, setBudget] = useState<Texts>(() => textsOf(apiKey?.budget ?? undefined));
  const problem = useFormProblem([
    ...["name", "project", "models", "expires", "defaults"],
    ...limitNames.map((each) => `limits.${each}`),
    ...budgetNames.map((each) => `budget.${each}`),
  ]);
  const save = async (): Promise<void> => {
    const body = bodyOf(texts, limits, budget, apiKey);
    const saved = apiKey
      ? call<Saved>(`/keys/${apiKey.id}`, { method: "PUT", body })
      : call<Saved>("/keys", { method: "POST", body });
    await onSaved(await saved);
  };
  const control = (name: string) => ({
    value: texts[name] ?? "",
    onChange: ({ target }: { target: { value: string } }) =>
      setTexts({ ...texts, [name]: target.value }),
  });
  const modelsOf = (kind: "embedding" | "image") =>
    models?.data.filter((model) => model.kind === kind).map(({ id }) => id) ?? [];
  return (
    <EntityForm
      problem={problem}
      save={save}
      action={apiKey ? t("action.save") : t("action.create")}
    >
      <Field label={t("keys.name")} error={problem.of("name")} required>
        {(ids) => <Input {...ids} {...control("name")} />}
      </Field>
      <Field label={t("keys.project")} error={problem.of("project")}>
        {(ids) => (
          <Select {...ids} {...control("project")}>
            <option value="">{t("keys.noProject")}</option>
            {projects?.data.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("keys.models")} hint={t("keys.modelsHint")} error={problem.of("models")}>
        {(ids) => <Input {...ids} {...control("models")} />}
      </Field>
      <Field label={t("keys.expires")} error={problem.of("expires")}>
        {(ids) => <Input {...ids} {...control("expires")} type="date" />}
      </Field>
      <More label={t("keys.more")}>
        <LimitFields texts={limits} onChange={setLimits} problem={problem} />
        <BudgetFields texts={budget} onChange={setBudget} problem={problem} />
        <Field label={t("keys.priority")}>
          {(ids) => (
            <Select {...ids} {...control("priority")}>
              <option value="">{t("keys.priority.normal")}</option>
              <option value="batch">{t("keys.priority.batch")}</option>
            </Select>
          )}
        </Field>
        {(["embedding", "image"] as const).map((kind) => (
          <Field
            key={kind}
            label={t(kind === "embedding" ? "keys.defaultEmbedding" : "keys.defaultImage")}
            error={problem.of(`defaults.${kind}`)}
          >
            {(ids) => (
              <Select {...ids} {...control(kind)}>
                <option value="">{t("upstreams.default")}</option>
                {modelsOf(kind).map((id) => (
                  <option key={id}>{id}</option>
                ))}
              </Select>
            )}
          </Field>
        ))}
      </More>
    </EntityForm>
  );
}
