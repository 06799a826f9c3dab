/** The form of an API key: its project, models, expiry, limits and budget. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey, CreatedApiKey } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { type Texts, textsOf } from "../../lib/text-values.ts";
import { endOfDay, localDay, timeZone } from "../../lib/time.ts";
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

const globsIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map((glob) => glob.trim())
    .filter((glob) => glob !== "");

/** Members of empty inputs are absent. */
function bodyOf(texts: Texts, limits: Texts, budget: Texts, before: ApiKey | undefined): object {
  const { name = "", models = "", project, expires, priority, embedding, image } = texts;
  const limit = limitsIn(limits);
  const amounts = budgetIn(budget);
  const isSameDay = expires !== "" && expires === dayOf(before);
  return {
    name: name.trim(),
    models: globsIn(models),
    ...(project && { project }),
    // The form shows the day only: an unchanged day keeps its time.
    ...(expires && { expires: isSameDay ? before?.expires_at : endOfDay(expires) }),
    ...(priority === "batch" && { priority }),
    ...(before?.parameters && { parameters: before.parameters }),
    ...((embedding || image) && {
      defaults: { ...(embedding && { embedding }), ...(image && { image }) },
    }),
    ...(limit && { limits: limit }),
    ...(amounts && { budget: amounts }),
  };
}

const dayOf = (key: ApiKey | undefined): string =>
  key?.expires_at ? localDay(new Date(key.expires_at)) : "";

/** The models that no model of the gateway matches. It may be a mistake, or a model that will be added. */
const unmatched = (text: string, ids: readonly string[]): readonly string[] =>
  globsIn(text).filter((glob) => !ids.some((id) => matchesGlob(glob, id)));

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
  const unknown = models
    ? unmatched(
        texts.models ?? "",
        models.data.map(({ id }) => id),
      )
    : [];
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
      <Field
        label={t("keys.models")}
        hint={
          unknown.length === 0 ? (
            t("keys.modelsHint")
          ) : (
            <span className="text-warn">
              {t("keys.modelsUnknown", { models: unknown.join(", ") })}
            </span>
          )
        }
        error={problem.of("models")}
      >
        {(ids) => <Input {...ids} {...control("models")} />}
      </Field>
      <Field
        label={t("keys.expires")}
        hint={t("keys.expiresHint", { zone: timeZone() })}
        error={problem.of("expires")}
      >
        {(ids) => (
          <Input
            {...ids}
            {...control("expires")}
            type="date"
            min={texts.expires === dayOf(apiKey) ? undefined : localDay(new Date())}
          />
        )}
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
