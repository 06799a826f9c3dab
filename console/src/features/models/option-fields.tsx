/** The options of a model of each kind, as vexel.yaml has them. */
import { useQuery } from "@tanstack/react-query";
import { batchExecutions } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { ComboboxField } from "../../ui/combobox-fields.tsx";
import { NumberField, TextField } from "../../ui/form-fields.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { upstreamsQuery } from "../upstreams/upstreams-query.ts";
import { ValueField, YesNoField } from "./choice-fields.tsx";

export function EmbeddingOptions() {
  const t = useT();
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <NumberField
        name="dimensions"
        label={t("models.form.dimensions")}
        hint={t("models.form.dimensionsHint")}
      />
      <YesNoField name="cache" />
      <YesNoField name="batch" />
      <ValueField
        name="tokenArrays"
        label={t("models.form.tokenArrays")}
        hint={t("models.form.tokenArraysHint")}
        values={["decode", "refuse", "pass"]}
        textOf={(value) => t(`models.form.tokenArrays.${value}`)}
        absent="decode"
      />
      <ValueField
        name="batches"
        label={t("models.form.batches")}
        hint={t("models.form.batchesHint")}
        values={batchExecutions}
        textOf={(value) => t(`models.form.batches.${value}`)}
        absent="now"
      />
      <YesNoField name="sameSpace" />
      <YesNoField name="contextual" />
      <YesNoField name="showCost" />
    </div>
  );
}

export function ImageOptions() {
  const t = useT();
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <NumberField
        name="maxImages"
        label={t("models.form.maxImages")}
        hint={t("models.form.maxImagesHint")}
      />
      <ValueField
        name="parameters"
        label={t("models.form.parameters")}
        hint={t("models.form.parametersHint")}
        values={["adapt", "strict", "drop", "pass"]}
        textOf={(value) => t(`models.form.parameters.${value}`)}
        absent="adapt"
      />
      <ValueField
        name="onDisconnect"
        label={t("models.form.onDisconnect")}
        hint={t("models.form.onDisconnectHint")}
        values={["finish", "cancel"]}
        textOf={(value) => t(`models.form.onDisconnect.${value}`)}
        absent="finish"
      />
      <YesNoField name="retryPaid" />
      <YesNoField name="showCost" />
    </div>
  );
}

const defaultModerationModel = "omni-moderation-latest";

/** Checks prompts before an image is generated. */
export function ModerationFields() {
  const t = useT();
  const { data: upstreams } = useQuery(upstreamsQuery);
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <ComboboxField
        name="moderation.upstream"
        label={t("models.form.moderation.upstream")}
        hint={t("models.form.moderation.upstreamHint")}
        options={[
          { value: "", label: "—" },
          ...optionsOf(upstreams?.data.map(({ id }) => id) ?? []),
        ]}
      />
      <TextField
        name="moderation.model"
        label={t("models.form.moderation.model")}
        placeholder={defaultModerationModel}
      />
      <ValueField
        name="moderation.onFailure"
        label={t("models.form.moderation.onFailure")}
        values={["refuse", "allow"]}
        textOf={(value) => t(`models.form.moderation.onFailure.${value}`)}
        absent="refuse"
      />
      <NumberField
        name="moderation.timeout"
        label={t("models.form.moderation.timeout")}
        placeholder="10"
      />
      <NumberField name="moderation.price.input" label={t("models.form.price.input")} />
    </div>
  );
}
