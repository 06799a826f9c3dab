/** The form of an alert rule: the value, the bound, the window, and the requests that it is about. */
import { useQuery } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import { type AlertEntity, alertMetrics } from "../../../../contract/admin.ts";
import { alert as alertSchema } from "../../../../contract/schemas/alerts.ts";
import { saveEntity } from "../../api/entities.ts";
import { ComboboxField, MultiComboboxField } from "../../ui/combobox-fields.tsx";
import { Form } from "../../ui/form.tsx";
import { NumberField, TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { optionsOf } from "../../ui/select.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { projectsQuery } from "../projects/projects-query.ts";
import { upstreamsQuery } from "../upstreams/upstreams-query.ts";
import { webhooksQuery } from "./alert-receivers.tsx";
import { useAlertText } from "./alert-text.ts";

interface AlertFormProps {
  readonly alert: AlertEntity | undefined;
  readonly onSaved: () => unknown;
}

export function AlertForm({ alert, onSaved }: AlertFormProps) {
  const { t } = useAlertText();
  const { receivers, ...value } = alert?.value ?? {};
  const form = useSchemaForm(alertSchema, {
    metric: "error_rate",
    ...value,
    ...(receivers && { receivers: [...receivers] }),
    ...(alert && { name: alert.id }),
  });
  const metric = useWatch({ control: form.control, name: "metric" }) ?? "error_rate";
  const isOfRequests = metric !== "unhealthy_targets";
  return (
    <Form
      form={form}
      save={async ({ name, ...value }) => {
        await saveEntity("/alerts", alert, alert ? value : { name, ...value });
        await onSaved();
      }}
    >
      <TextField
        name="name"
        label={t("alerts.name")}
        required
        autoComplete="off"
        disabled={alert !== undefined}
      />
      <SelectField
        name="metric"
        label={t("alerts.metric")}
        options={alertMetrics.map((each) => ({ value: each, label: t(`alerts.metric.${each}`) }))}
      />
      <NumberField name="above" label={t(`alerts.above.${metric}`)} required />
      {isOfRequests && (
        <div className="grid gap-3 sm:grid-cols-2">
          <NumberField
            name="minutes"
            label={t("alerts.minutes")}
            hint={t("alerts.minutesHint")}
            placeholder="15"
          />
          {metric !== "spend" && (
            <NumberField
              name="minRequests"
              label={t("alerts.minRequests")}
              hint={t("alerts.minRequestsHint")}
              placeholder="20"
            />
          )}
        </div>
      )}
      <Filters hasProject={isOfRequests} />
      <ReceiversField />
    </Form>
  );
}

function ReceiversField() {
  const { t } = useAlertText();
  const { data } = useQuery(webhooksQuery);
  const names = data?.data.flatMap(({ name }) => (name === null ? [] : [name])) ?? [];
  return (
    <MultiComboboxField
      name="receivers"
      label={t("alerts.receivers")}
      hint={t("alerts.receiversHint")}
      options={optionsOf([...new Set(names)])}
    />
  );
}

function Filters({ hasProject }: { hasProject: boolean }) {
  const { t } = useAlertText();
  const models = useQuery(modelsQuery).data?.data ?? [];
  const projects = useQuery(projectsQuery).data?.data ?? [];
  const upstreams = useQuery(upstreamsQuery).data?.data ?? [];
  const idsOf = (entries: readonly { readonly id: string }[]) =>
    optionsOf(entries.map(({ id }) => id));
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      <ComboboxField
        name="model"
        label={t("alerts.model")}
        placeholder={t("alerts.all")}
        options={idsOf(models)}
      />
      {hasProject && (
        <ComboboxField
          name="project"
          label={t("alerts.project")}
          placeholder={t("alerts.all")}
          options={idsOf(projects)}
        />
      )}
      <ComboboxField
        name="upstream"
        label={t("alerts.upstream")}
        placeholder={t("alerts.all")}
        options={idsOf(upstreams)}
      />
    </div>
  );
}
