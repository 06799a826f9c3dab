/** The form of a model: its id, its targets, and the other members of a model in vexel.yaml, in groups. */
import { useWatch } from "react-hook-form";
import { type ModelEntity, policyNames } from "../../../../contract/admin.ts";
import { saveEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { NumberField, TextField } from "../../ui/form-fields.tsx";
import { LimitFields } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { membersOfKind, modelSchema, valuesOf } from "./model-schema.ts";
import { EmbeddingOptions, ImageOptions, ModerationFields } from "./option-fields.tsx";
import { PriceFields } from "./price-fields.tsx";
import { TargetFields } from "./target-fields.tsx";

interface ModelFormProps {
  readonly model: ModelEntity | undefined;
  readonly onSaved: (saved: ModelEntity) => unknown;
}

export function ModelForm({ model, onSaved }: ModelFormProps) {
  const t = useT();
  const form = useSchemaForm(
    modelSchema,
    model ? valuesOf(model) : { kind: "embedding", targets: [{}] },
  );
  const [kind, target, storeContent] = useWatch({
    control: form.control,
    name: ["kind", "targets.0", "storeContent"],
  });
  return (
    <Form
      form={form}
      explain={({ message }) =>
        message.includes("sameSpace") ? t("models.form.mixedSpaces") : undefined
      }
      save={async ({ id, ...value }) => {
        const body = membersOfKind(value);
        await onSaved(
          await saveEntity<ModelEntity>("/models", model, model ? body : { id, ...body }),
        );
      }}
    >
      <TextField
        name="id"
        label={t("models.form.id")}
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
      <TargetFields kind={kind} />
      <More label={t("models.form.group.prices")}>
        <PriceFields
          name="price"
          kind={kind}
          label={t("models.form.group.prices")}
          hint={t("models.form.pricesHint")}
          target={target}
        />
      </More>
      <More label={t("models.form.group.options")}>
        {kind === "embedding" ? <EmbeddingOptions /> : <ImageOptions />}
      </More>
      {kind === "image" && (
        <More label={t("models.form.group.moderation")}>
          <ModerationFields />
        </More>
      )}
      <More label={t("models.form.group.routing")}>
        <SelectField
          name="policy"
          label={t("models.form.policy")}
          hint={t("models.form.policyHint")}
          options={[
            { value: "", label: t("upstreams.default") },
            ...policyNames.map((policy) => ({ value: policy, label: t(`policy.${policy}`) })),
          ]}
        />
        <NumberField
          name="timeout"
          label={t("models.form.timeout")}
          hint={t("models.form.timeoutHint")}
        />
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
      </More>
      <More label={t("models.form.group.limits")}>
        <LimitFields />
      </More>
    </Form>
  );
}
