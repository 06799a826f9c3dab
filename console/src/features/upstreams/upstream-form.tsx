/** The guided form of an upstream: the fields depend on its kind. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useWatch } from "react-hook-form";
import { z } from "zod";
import type {
  ConnectionTest,
  FormField,
  ShownModel,
  UpstreamEntity,
  UpstreamKind,
} from "../../../../contract/admin.ts";
import { upstreamMembers } from "../../../../contract/schemas/upstreams.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { ComboboxField } from "../../ui/combobox-fields.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { KindMark } from "../../ui/kind-mark.tsx";
import { LimitFields } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { modelsQuery } from "../models/models-query.ts";
import { ConnectionTestPanel } from "./connection-test.tsx";
import { DiscoveredModels, type TickedModels } from "./discovered-models.tsx";
import { KindField } from "./kind-field.tsx";
import { membersOf, valueAt, valuesOf } from "./upstream-values.ts";

const { headers: _, ...members } = upstreamMembers;
/** The server validates the members that only some kinds have, and those with several inputs. */
const schema = z.looseObject({ ...members, kind: z.string() });

interface UpstreamFormProps {
  readonly kinds: readonly UpstreamKind[];
  readonly upstream: UpstreamEntity | undefined;
  readonly onSaved: () => unknown;
}

export function UpstreamForm({ kinds, upstream, onSaved }: UpstreamFormProps) {
  const t = useT();
  const queryClient = useQueryClient();
  const [stored, setStored] = useState(upstream);
  const firstKind = upstream?.value.kind ?? "openai";
  const fieldsOf = (name: string) => kinds.find(({ kind }) => kind === name)?.fields ?? [];
  const form = useSchemaForm(schema, {
    ...(upstream && valuesOf(fieldsOf(firstKind), upstream.value)),
    id: upstream?.id ?? firstKind,
    kind: firstKind,
    limits: upstream?.value.limits ?? {},
  });
  const [id = "", kindName] = useWatch({ control: form.control, name: ["id", "kind"] });
  const kind = kinds.find((each) => each.kind === kindName);
  const fields = kind?.fields ?? [];
  const [test, setTest] = useState<{ kind: string; result: ConnectionTest }>();
  const [ticked, setTicked] = useState<TickedModels>({});
  const { data: models } = useQuery(modelsQuery);

  const bodyOf = (values: z.input<typeof schema>) => ({
    id: values.id,
    kind: values.kind,
    limits: values.limits,
    ...membersOf(fields, values, stored?.value),
  });
  const missingIn = (values: z.input<typeof schema>): readonly string[] => {
    const given = membersOf(fields, values, stored?.value);
    return fields
      .filter(({ name, required }) => required && valueAt(given, name) === undefined)
      .map(({ name }) => name);
  };
  const chooseKind = (name: string): void => {
    // The values, among them the credential, and the models belong to the vendor that was chosen before.
    // The proposed id follows the kind until it is edited.
    form.reset({ kind: name, id: id === kindName ? name : id, limits: form.getValues("limits") });
    setTest(undefined);
    setTicked({});
  };
  const save = async (values: z.input<typeof schema>): Promise<void> => {
    const saved = await saveEntity<UpstreamEntity>("/upstreams", stored, bodyOf(values));
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
  const showField = (field: FormField) => (
    <KindField
      key={`${kindName} ${field.name}`}
      kind={kindName}
      field={field}
      stored={valueAt(stored?.value, field.name)}
    />
  );
  const isUsual = ({ name, required }: FormField): boolean =>
    required ||
    ["baseUrl", "apiKey"].includes(name) ||
    (kind?.needs_one_of ?? []).some((names) => names.includes(name.split(".")[0] ?? ""));
  return (
    <Form form={form} save={save} missing={missingIn}>
      <ComboboxField
        name="kind"
        label={t("upstreams.kind")}
        required
        disabled={stored !== undefined}
        options={kinds.map((each) => ({
          value: each.kind,
          label: each.title,
          hint: each.kind,
          icon: <KindMark kind={each.kind} />,
        }))}
        onChange={chooseKind}
      />
      <TextField
        name="id"
        label={t("upstreams.name")}
        hint={t("upstreams.idHint")}
        required
        disabled={stored !== undefined}
      />
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
        <LimitFields />
      </More>
      <ConnectionTestPanel
        key={kindName}
        path="/upstreams/test"
        body={() => ({ upstream: bodyOf(form.getValues()) })}
        isReady={() => {
          const missing = missingIn(form.getValues());
          for (const name of missing) form.setError(name, { message: t("field.missing") });
          return missing.length === 0;
        }}
        paidModel={firstOf(Object.keys(ticked))}
        onResult={(result) => setTest({ kind: kindName, result })}
      />
      {test?.kind === kindName && test.result.models && (
        <DiscoveredModels
          models={test.result.models}
          ticked={ticked}
          onChange={setTicked}
          idOf={(model) => modelId(model, id, models?.data ?? [])}
        />
      )}
    </Form>
  );
}

const firstOf = ([model]: readonly string[]) => (model === undefined ? undefined : { model });

/**
 * The id of a new model: the upstream's name of it, with the id of the upstream in front if another model has that id.
 */
const modelId = (model: string, upstream: string, existing: readonly ShownModel[]): string =>
  existing.some(({ id }) => id === model) ? `${upstream}/${model}` : model;
