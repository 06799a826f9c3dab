/** Silences an alert rule for some time: its state is still shown, and nobody is notified. */
import type { AlertEntity } from "../../../../contract/admin.ts";
import { silenceBody } from "../../../../contract/schemas/alerts.ts";
import { call } from "../../api/client.ts";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { useAlertText } from "./alert-text.ts";

const hours = [1, 4, 8, 24, 72, 168, 720] as const;
const minutesOfHour = 60;
const hoursOfDay = 24;

interface SilenceFormProps {
  readonly alert: AlertEntity;
  readonly onSaved: () => unknown;
}

export function SilenceForm({ alert, onSaved }: SilenceFormProps) {
  const { t } = useAlertText();
  const form = useSchemaForm(silenceBody, { minutes: minutesOfHour });
  return (
    <Form
      form={form}
      action={t("alerts.silence.submit")}
      save={async (body) => {
        await call(silencePath(alert), { method: "PUT", body });
        await onSaved();
      }}
    >
      <p className="text-sm text-muted">{t("alerts.silence.description")}</p>
      <SelectField
        name="minutes"
        label={t("alerts.silence.duration")}
        read={Number}
        options={hours.map((each) => ({
          value: String(each * minutesOfHour),
          label:
            each < hoursOfDay
              ? t("alerts.silence.hours", { count: each })
              : t("alerts.silence.days", { count: each / hoursOfDay }),
        }))}
      />
      <TextField name="reason" label={t("alerts.silence.reason")} required autoComplete="off" />
    </Form>
  );
}

const silencePath = ({ id }: AlertEntity): string => `/alerts/${encodeURIComponent(id)}/silence`;

export const endSilence = (alert: AlertEntity): Promise<void> =>
  call(silencePath(alert), { method: "DELETE" });
