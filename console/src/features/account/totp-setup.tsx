/** Sets up the second factor: the password, then the QR code of the secret and the first code of the app. */
import { useState } from "react";
import { renderSVG } from "uqr";
import type { RecoveryCodes, TotpEnrollment } from "../../../../contract/admin.ts";
import { enableTotpBody } from "../../../../contract/schemas/users.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { ConfirmPassword } from "./confirm-password.tsx";

export function TotpSetup({ onEnabled }: { onEnabled: (codes: readonly string[]) => unknown }) {
  const t = useT();
  const [enrollment, setEnrollment] = useState<TotpEnrollment>();
  if (enrollment) return <EnableForm enrollment={enrollment} onEnabled={onEnabled} />;
  return (
    <ConfirmPassword
      action={t("account.twoFactor.continue")}
      onConfirmed={async (password) => {
        const body = { password };
        setEnrollment(await call<TotpEnrollment>("/account/totp", { method: "POST", body }));
      }}
    />
  );
}

interface EnableFormProps {
  readonly enrollment: TotpEnrollment;
  readonly onEnabled: (codes: readonly string[]) => unknown;
}

function EnableForm({ enrollment: { secret, uri, enrollment }, onEnabled }: EnableFormProps) {
  const t = useT();
  const form = useSchemaForm(enableTotpBody, { enrollment });
  return (
    <Form
      form={form}
      action={t("account.twoFactor.enable")}
      toast={false}
      save={async (body) => {
        const { codes } = await call<RecoveryCodes>("/account/totp", { method: "PUT", body });
        await onEnabled(codes);
      }}
    >
      <p>{t("account.twoFactor.scan")}</p>
      <img
        alt={t("account.twoFactor.qr")}
        // White also in the dark theme: cameras need the contrast.
        className="size-48 self-center rounded-md bg-white p-2"
        src={`data:image/svg+xml,${encodeURIComponent(renderSVG(uri, { border: 1 }))}`}
      />
      <p className="text-muted">{t("account.twoFactor.manual")}</p>
      <div className="flex items-center gap-2">
        <code className="min-w-0 flex-1 rounded-md bg-sunken p-2 font-mono text-xs break-all">
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <TextField
        name="code"
        label={t("account.twoFactor.code")}
        inputMode="numeric"
        autoComplete="one-time-code"
      />
    </Form>
  );
}
