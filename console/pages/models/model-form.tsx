/** The form of a model: its id, its targets, how one of them is selected, and its limits. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ModelEntity, type ModelValue, policies } from "../../../contract/admin.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { type Texts, textsOf } from "../../lib/text-values.ts";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, NumberInput, Select } from "../../ui/input.tsx";
import { LimitFields, limitNames, limitsIn } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";
import { upstreamsQuery } from "../upstreams/upstreams-query.ts";
import { emptyTarget, TargetFields, type TargetTexts, targetValue } from "./target-fields.tsx";

interface ModelFormProps {
  readonly model: ModelEntity | undefined;
  readonly onSaved: (saved: ModelEntity) => unknown;
}

const shownMembers = [
  ...["policy", "timeout", "dimensions", "description", "limits", "storeContent"],
];

export function ModelForm({ model, onSaved }: ModelFormProps) {
  const t = useT();
  const { data: upstreams } = useQuery(upstreamsQuery);
  const before = model?.value;
  const [texts, setTexts] = useState<Texts>(() => ({ kind: "embedding", ...textsOf(before) }));
  const [id, setId] = useState(model?.id ?? "");
  const [storedFor, setStoredFor] = useState(before?.storeContent?.for ?? "");
  const [limits, setLimits] = useState(() => textsOf(before?.limits));
  const [targets, setTargets] = useState<readonly TargetTexts[]>(() =>
    before
      ? before.targets.map((target) => ({ texts: textsOf(target), before: target }))
      : [emptyTarget],
  );
  const problem = useFormProblem([
    ...["id", "kind", "description", "policy", "timeout", "dimensions", "storeContent.for"],
    ...limitNames.map((name) => `limits.${name}`),
  ]);
  const value = (): ModelValue => {
    // Members that the form does not show are kept.
    const others = Object.fromEntries(
      Object.entries(before ?? {}).filter(([name]) => !shownMembers.includes(name)),
    );
    const limit = limitsIn(limits);
    const text = (name: string): string => texts[name]?.trim() ?? "";
    return {
      ...others,
      kind: texts.kind === "image" ? "image" : "embedding",
      targets: targets.map(targetValue),
      ...(text("description") !== "" && { description: text("description") }),
      ...(text("policy") !== "" && { policy: text("policy") as (typeof policies)[number] }),
      ...(text("timeout") !== "" && { timeout: Number(text("timeout")) }),
      ...(text("dimensions") !== "" && { dimensions: Number(text("dimensions")) }),
      ...(limit && { limits: limit }),
      ...(storedFor.trim() !== "" && { storeContent: { for: storedFor.trim() } }),
    };
  };
  const save = async (): Promise<void> => {
    const body = model ? value() : { id: id.trim(), ...value() };
    await onSaved(await saveEntity<ModelEntity>("/models", model, body));
  };
  const input = (name: "description" | "timeout" | "dimensions", Control: typeof Input) => (
    <Field label={t(`models.form.${name}`)} error={problem.of(name)}>
      {(ids) => (
        <Control
          {...ids}
          value={texts[name] ?? ""}
          onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
        />
      )}
    </Field>
  );
  return (
    <EntityForm problem={problem} save={save}>
      <Field
        label={t("models.id")}
        hint={t("models.form.idHint")}
        required
        error={problem.of("id")}
      >
        {(ids) => (
          <Input
            {...ids}
            value={id}
            disabled={model !== undefined}
            onChange={({ target }) => setId(target.value)}
          />
        )}
      </Field>
      <Field label={t("models.kind")} required error={problem.of("kind")}>
        {(ids) => (
          <Select
            {...ids}
            value={texts.kind ?? ""}
            onChange={({ target }) => setTexts({ ...texts, kind: target.value })}
          >
            <option value="embedding">{t("model.kind.embedding")}</option>
            <option value="image">{t("model.kind.image")}</option>
          </Select>
        )}
      </Field>
      {input("description", Input)}
      <TargetFields
        targets={targets}
        upstreams={upstreams?.data.map((upstream) => upstream.id) ?? []}
        onChange={setTargets}
      />
      <More label={t("upstreams.more")}>
        <Field
          label={t("models.form.policy")}
          hint={t("models.form.policyHint")}
          error={problem.of("policy")}
        >
          {(ids) => (
            <Select
              {...ids}
              value={texts.policy ?? ""}
              onChange={({ target }) => setTexts({ ...texts, policy: target.value })}
            >
              <option value="">{t("upstreams.default")}</option>
              {policies.map((policy) => (
                <option key={policy} value={policy}>
                  {t(`policy.${policy}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <div className="grid gap-3 sm:grid-cols-2">
          {input("timeout", NumberInput)}
          {texts.kind === "embedding" && input("dimensions", NumberInput)}
        </div>
        <Field
          label={t("models.form.storeContent")}
          hint={t("models.form.storeContentHint")}
          error={problem.of("storeContent.for")}
        >
          {(ids) => (
            <Input
              {...ids}
              value={storedFor}
              onChange={({ target }) => setStoredFor(target.value)}
            />
          )}
        </Field>
        {storedFor.trim() !== "" && (
          <p role="status" className="rounded-md bg-warn-soft p-3 text-sm text-warn">
            {t("models.form.storeContentWarning")}
          </p>
        )}
        <LimitFields texts={limits} onChange={setLimits} problem={problem} />
      </More>
    </EntityForm>
  );
}
