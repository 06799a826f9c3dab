/** The targets of a model: upstream, the model's name there, its weight and tier, its price and its limits. */
import { useQuery } from "@tanstack/react-query";
import { useFieldArray, useWatch } from "react-hook-form";
import type { ConnectionTest } from "../../../../contract/admin.ts";
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { ComboboxField } from "../../ui/combobox-fields.tsx";
import { NumberField, TextField } from "../../ui/form-fields.tsx";
import { KindMark } from "../../ui/kind-mark.tsx";
import { LimitFields } from "../../ui/limit-fields.tsx";
import { More } from "../../ui/more.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { upstreamsQuery } from "../upstreams/upstreams-query.ts";
import { ValueField } from "./choice-fields.tsx";
import { PriceFields } from "./price-fields.tsx";

export function TargetFields({ kind }: { kind: ModelKind }) {
  const t = useT();
  const { fields, append, remove } = useFieldArray({ name: "targets" });
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("models.targets")}</legend>
      {fields.map(({ id }, at) => (
        <div key={id} className="flex flex-col gap-2 rounded-md border border-line p-3">
          <TargetField path={`targets.${at}`} kind={kind} />
          {fields.length > 1 && (
            <div>
              <Button size="small" onClick={() => remove(at)}>
                {t("action.remove")}
              </Button>
            </div>
          )}
        </div>
      ))}
      <div>
        <Button size="small" onClick={() => append({})}>
          {t("models.form.addTarget")}
        </Button>
      </div>
    </fieldset>
  );
}

/** The models that the upstream lists. The request costs nothing. */
const listedModels = (upstream: string) => ({
  queryKey: ["listed-models", upstream],
  queryFn: async () => {
    const path = `/upstreams/${encodeURIComponent(upstream)}/test`;
    const { models } = await call<ConnectionTest>(path, { method: "POST", body: {} });
    return models?.map(({ id }) => id) ?? [];
  },
  enabled: upstream !== "",
  staleTime: 300_000,
  retry: false,
});

function TargetField({ path, kind }: { path: string; kind: ModelKind }) {
  const t = useT();
  const { data: upstreams } = useQuery(upstreamsQuery);
  const [upstream = "", model = ""] = useWatch({ name: [`${path}.upstream`, `${path}.model`] });
  const { data: models = [] } = useQuery(listedModels(String(upstream)));
  return (
    <>
      <div className="grid gap-2 sm:grid-cols-2">
        <ComboboxField
          name={`${path}.upstream`}
          label={t("models.form.upstream")}
          required
          options={(upstreams?.data ?? []).map(({ id, value: { kind: vendor } }) => ({
            value: id,
            label: id,
            icon: <KindMark kind={vendor} />,
          }))}
        />
        <ComboboxField
          name={`${path}.model`}
          label={t("models.form.model")}
          required
          allowsOther
          options={optionsOf(models)}
        />
        <NumberField
          name={`${path}.weight`}
          label={t("models.form.weight")}
          hint={t("models.form.weightHint")}
        />
        <NumberField
          name={`${path}.tier`}
          label={t("models.form.tier")}
          hint={t("models.form.tierHint")}
        />
        {kind === "image" && (
          <>
            <ValueField
              name={`${path}.surface`}
              label={t("models.form.surface")}
              hint={t("models.form.surfaceHint")}
              values={["images", "responses"]}
              textOf={(value) => t(`models.form.surface.${value}`)}
              absent="images"
            />
            <TextField
              name={`${path}.via`}
              label={t("models.form.via")}
              hint={t("models.form.viaHint")}
            />
          </>
        )}
      </div>
      <More label={t("models.form.pricesOf")}>
        <PriceFields
          name={`${path}.price`}
          kind={kind}
          label={t("models.form.group.prices")}
          target={{ upstream: String(upstream), model: String(model) }}
        />
      </More>
      <More label={t("models.form.targetLimits")}>
        <LimitFields path={`${path}.limits`} />
      </More>
    </>
  );
}
