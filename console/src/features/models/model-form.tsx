/** The form of a model: its id, its targets, how one of them is selected, and its limits. */
import { useWatch } from "react-hook-form";
import { z } from "zod";
import { type ModelEntity, policyNames } from "../../../../contract/admin.ts";
import { dimensions, modelMembers, targetMembers } from "../../../../contract/schemas/models.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { SchemaForm, useSchemaForm } from "../../ui/form.tsx";
import { NumberField, SelectField, TextField } from "../../ui/form-fields.tsx";
import { LimitFields } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { TargetFields } from "./target-fields.tsx";

/** Members that the form does not show are kept as they are. */
const schema = z.looseObject({
  ...modelMembers,
  kind: z.enum(["embedding", "image"]),
  targets: z.array(z.looseObject(targetMembers)).min(1),
  dimensions: dimensions.optional(),
});

interface ModelFormProps {
  readonly model: ModelEntity | undefined;
  readonly onSaved: (saved: ModelEntity) => unknown;
}

export function ModelForm({ model, onSaved }: ModelFormProps) {
  const t = useT();
  const form = useSchemaForm(
    schema,
    model
      ? { ...model.value, targets: [...model.value.targets], id: model.id }
      : { kind: "embedding", targets: [{}] },
  );
  const [kind, storeContent] = useWatch({ control: form.control, name: ["kind", "storeContent"] });
  return (
    <SchemaForm
      form={form}
      save={async ({ id, dimensions: count, ...value }) => {
        const body = { ...value, ...(value.kind === "embedding" && { dimensions: count }) };
        await onSaved(
          await saveEntity<ModelEntity>("/models", model, model ? body : { id, ...body }),
        );
      }}
    >
      <TextField
        name="id"
        label={t("models.id")}
        hint={t("models.form.idHint")}
        required
        disabled={model !== undefined}
      />
      <SelectField
        name="kind"
        label={t("models.kind")}
        required
        options={[
          { value: "embedding", label: t("model.kind.embedding") },
          { value: "image", label: t("model.kind.image") },
        ]}
      />
      <TextField name="description" label={t("models.form.description")} />
      <TargetFields />
      <More label={t("upstreams.more")}>
        <SelectField
          name="policy"
          label={t("models.form.policy")}
          hint={t("models.form.policyHint")}
          options={[
            { value: "", label: t("upstreams.default") },
            ...policyNames.map((policy) => ({ value: policy, label: t(`policy.${policy}`) })),
          ]}
        />
        <div className="grid gap-3 sm:grid-cols-2">
          <NumberField name="timeout" label={t("models.form.timeout")} />
          {kind === "embedding" && (
            <NumberField name="dimensions" label={t("models.form.dimensions")} />
          )}
        </div>
        <TextField
          name="storeContent.for"
          label={t("models.form.storeContent")}
          hint={t("models.form.storeContentHint")}
        />
        {storeContent?.for !== undefined && (
          <p role="status" className="rounded-md bg-warn-soft p-3 text-sm text-warn">
            {t("models.form.storeContentWarning")}
          </p>
        )}
        <LimitFields />
      </More>
    </SchemaForm>
  );
}
