/** Asks for the password before a change of the account. */
import { confirmBody } from "../../../../contract/schemas/users.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";

interface ConfirmPasswordProps {
  /** The text of the button. */
  readonly action: string;
  readonly onConfirmed: (password: string) => Promise<unknown>;
}

export function ConfirmPassword({ action, onConfirmed }: ConfirmPasswordProps) {
  const t = useT();
  const form = useSchemaForm(confirmBody, {});
  return (
    <Form form={form} action={action} toast={false} save={({ password }) => onConfirmed(password)}>
      <TextField
        name="password"
        label={t("account.twoFactor.confirm")}
        type="password"
        autoComplete="current-password"
        read={String}
      />
    </Form>
  );
}
