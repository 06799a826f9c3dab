/** Replaces a key by a new one. The old one may work for some time, so that applications can change over. */
import { useState } from "react";
import type { CreatedApiKey } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { EntityForm } from "../../ui/entity-form.tsx";
import { Field } from "../../ui/field.tsx";
import { Select } from "../../ui/input.tsx";
import { useFormProblem } from "../../ui/use-form-problem.ts";

const overlaps = [0, 1, 24, 168] as const;

interface RotateFormProps {
  readonly id: string;
  readonly onRotated: (key: CreatedApiKey) => unknown;
}

export function RotateForm({ id, onRotated }: RotateFormProps) {
  const t = useT();
  const [hours, setHours] = useState("24");
  const problem = useFormProblem([]);
  const rotate = async (): Promise<void> => {
    const body = { overlapHours: Number(hours) };
    await onRotated(await call<CreatedApiKey>(`/keys/${id}/rotate`, { method: "POST", body }));
  };
  return (
    <EntityForm problem={problem} save={rotate} action={t("keys.rotate")}>
      <Field label={t("keys.overlap")}>
        {(ids) => (
          <Select {...ids} value={hours} onChange={({ target }) => setHours(target.value)}>
            {overlaps.map((count) => (
              <option key={count} value={count}>
                {count === 0 ? t("keys.overlap.none") : t("keys.overlap.hours", { count })}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </EntityForm>
  );
}
