/** The guided form of an upstream: the fields depend on its kind. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type {
  ConnectionTest,
  FormField,
  ShownModel,
  UpstreamEntity,
  UpstreamKind,
} from "../../../contract/admin.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { textsOf } from "../../lib/text-values.ts";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, Select } from "../../ui/input.tsx";
import { LimitFields, limitNames, limitsIn } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";
import { modelsQuery } from "../models/models-query.ts";
import { ConnectionTestPanel } from "./connection-test.tsx";
import { DiscoveredModels, type TickedModels } from "./discovered-models.tsx";
import { KindField } from "./kind-field.tsx";
import { type FieldValue, type FieldValues, membersOf, valuesOf } from "./upstream-values.ts";

interface UpstreamFormProps {
  readonly kinds: readonly UpstreamKind[];
  readonly upstream: UpstreamEntity | undefined;
  readonly onSaved: () => unknown;
}

export function UpstreamForm({ kinds, upstream, onSaved }: UpstreamFormProps) {
  const t = useT();
  const queryClient = useQueryClient();
  const [kindName, setKindName] = useState(upstream?.value.kind ?? "openai");
  const kind = kinds.find(({ kind: name }) => name === kindName);
  const fields = kind?.fields ?? [];
  const [id, setId] = useState(upstream?.id ?? kindName);
  const [values, setValues] = useState<FieldValues>(() => valuesOf(fields, upstream?.value));
  const [stored, setStored] = useState(upstream);
  const [limits, setLimits] = useState(() => textsOf(upstream?.value.limits));
  const [test, setTest] = useState<{ kind: string; result: ConnectionTest }>();
  const [ticked, setTicked] = useState<TickedModels>({});
  const { data: models } = useQuery(modelsQuery);
  const problem = useFormProblem([
    ...["id", ...fields.map(({ name }) => name)],
    ...limitNames.map((name) => `limits.${name}`),
  ]);

  const value = () => {
    const limit = limitsIn(limits);
    return {
      ...(id.trim() !== "" && { id: id.trim() }),
      kind: kindName,
      ...membersOf(fields, values),
      ...(limit && { limits: limit }),
    };
  };
  const chooseKind = (name: string): void => {
    // The proposed id follows the kind until it is edited.
    if (id === kindName) setId(name);
    setKindName(name);
    // The values, among them the credential, and the models belong to the vendor that was chosen before.
    setValues({});
    setTest(undefined);
    setTicked({});
  };
  const save = async (): Promise<void> => {
    const saved = await saveEntity<UpstreamEntity>("/upstreams", stored, value());
    // If one of its models is refused, the next attempt changes this upstream.
    setStored(saved);
    const existing = await queryClient.fetchQuery({ ...modelsQuery, staleTime: 0 });
    for (const [model, modelKind] of Object.entries(ticked)) {
      await saveEntity("/models", undefined, {
        id: modelId(model, saved.id, existing.data),
        kind: modelKind,
        targets: [{ upstream: saved.id, model }],
      });
      setTicked(({ [model]: _, ...others }) => others);
    }
    await onSaved();
  };
  const set = (name: string) => (changed: FieldValue) => setValues({ ...values, [name]: changed });
  const showField = (field: FormField) => (
    <KindField
      key={`${kindName} ${field.name}`}
      field={field}
      value={values[field.name]}
      error={problem.of(field.name)}
      onChange={set(field.name)}
    />
  );
  const isUsual = ({ name, required }: FormField): boolean =>
    required ||
    ["baseUrl", "apiKey"].includes(name) ||
    (kind?.needs_one_of ?? []).some((names) => names.includes(name));
  return (
    <EntityForm problem={problem} save={save}>
      <Field label={t("upstreams.kind")} required>
        {(ids) => (
          <Select
            {...ids}
            value={kindName}
            disabled={stored !== undefined}
            onChange={({ target }) => chooseKind(target.value)}
          >
            {kinds.map((each) => (
              <option key={each.kind} value={each.kind}>
                {each.title}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label={t("upstreams.id")}
        hint={t("upstreams.idHint")}
        required
        error={problem.of("id")}
      >
        {(ids) => (
          <Input
            {...ids}
            value={id}
            disabled={stored !== undefined}
            onChange={({ target }) => setId(target.value)}
          />
        )}
      </Field>
      {kind?.needs_one_of && (
        <p className="text-xs text-muted">
          {t("upstreams.needsOneOf", {
            choices: kind.needs_one_of.map((names) => names.join(" + ")).join(" / "),
          })}
        </p>
      )}
      {fields.filter(isUsual).map(showField)}
      <More label={t("upstreams.more")}>
        {fields.filter((field) => !isUsual(field)).map(showField)}
        <LimitFields texts={limits} onChange={setLimits} problem={problem} />
      </More>
      <ConnectionTestPanel
        key={kindName}
        path="/upstreams/test"
        body={() => ({ upstream: value() })}
        paidModel={Object.keys(ticked)[0]}
        onResult={(result) => setTest({ kind: kindName, result })}
      />
      {test?.kind === kindName && test.result.models && (
        <DiscoveredModels
          models={test.result.models}
          ticked={ticked}
          onChange={setTicked}
          idOf={(model) => modelId(model, id.trim(), models?.data ?? [])}
        />
      )}
    </EntityForm>
  );
}

/** The id of a new model: the upstream's name of it, with the id of the upstream in front if another model has that id. */
const modelId = (model: string, upstream: string, existing: readonly ShownModel[]): string =>
  existing.some(({ id }) => id === model) ? `${upstream}/${model}` : model;
