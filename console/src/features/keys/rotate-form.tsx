/** Replaces a key by a new one. The old one may work for some time, so that applications can change over. */
import type { ApiKey, CreatedApiKey } from "../../../../contract/admin.ts";
import { rotationBody } from "../../../../contract/schemas/keys.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";

const overlaps = [0, 1, 24, 168] as const;

interface RotateFormProps {
  readonly apiKey: ApiKey;
  readonly onRotated: (key: CreatedApiKey) => unknown;
}

export function RotateForm({ apiKey: { id, version }, onRotated }: RotateFormProps) {
  const t = useT();
  const form = useSchemaForm(rotationBody, { overlapHours: 24 });
  return (
    <Form
      form={form}
      action={t("keys.rotate")}
      save={async (body) =>
        onRotated(
          await call<CreatedApiKey>(`/keys/${id}/rotate`, {
            method: "POST",
            body,
            ...(version !== null && { version }),
          }),
        )
      }
    >
      <SelectField
        name="overlapHours"
        label={t("keys.overlap")}
        read={Number}
        options={overlaps.map((count) => ({
          value: String(count),
          label: count === 0 ? t("keys.overlap.none") : t("keys.overlap.hours", { count }),
        }))}
      />
    </Form>
  );
}
