/** Changes the password of the signed-in user. */
import { useState } from "react";
import type { Account } from "../../../../contract/admin.ts";
import { changedPasswordBody } from "../../../../contract/schemas/users.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { NewPasswordField } from "../../ui/new-password-field.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";

export function PasswordSection({ account: { user } }: { account: Account }) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const hasPassword = user.sign_in === "password";
  return (
    <Card title={t("account.password")}>
      <div className="flex flex-wrap items-center justify-between gap-3 p-4">
        <p className="min-w-0 flex-1 text-muted">
          {t(hasPassword ? "account.password.hint" : "account.password.oidc")}
        </p>
        {hasPassword && <Button onClick={() => setOpen(true)}>{t("newPassword.submit")}</Button>}
      </div>
      <Dialog title={t("newPassword.submit")} isOpen={isOpen} onClose={() => setOpen(false)}>
        <PasswordForm onSaved={() => setOpen(false)} />
      </Dialog>
    </Card>
  );
}

export function PasswordForm({ onSaved }: { onSaved: () => unknown }) {
  const t = useT();
  const form = useSchemaForm(changedPasswordBody, {});
  return (
    <Form
      form={form}
      action={t("newPassword.submit")}
      save={async (body) => {
        await call("/account/password", { method: "POST", body });
        await onSaved();
      }}
    >
      <TextField
        name="current_password"
        label={t("newPassword.current")}
        type="password"
        autoComplete="current-password"
        read={String}
      />
      <NewPasswordField name="new_password" label={t("newPassword.new")} />
    </Form>
  );
}
