/** The second factor of the signed-in user: set up, recovery codes, turn off. */
import { useState } from "react";
import type { Account, RecoveryCodes } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { showToast } from "../../ui/toast.ts";
import { ConfirmPassword } from "./confirm-password.tsx";
import { RecoveryCodesDialog } from "./recovery-codes.tsx";
import { TotpSetup } from "./totp-setup.tsx";

interface TwoFactorProps {
  readonly account: Account;
  readonly onChanged: () => Promise<unknown>;
}

export function TwoFactorSection({ account, onChanged }: TwoFactorProps) {
  const t = useT();
  const [step, setStep] = useState<"setUp" | "codes" | "disable">();
  const [codes, setCodes] = useState<readonly string[]>();
  const { user, recovery_codes_left: left } = account;
  const isOn = user.two_factor;
  const finish = async (shown?: readonly string[]): Promise<void> => {
    setStep(undefined);
    setCodes(shown);
    await onChanged();
  };
  const renew = async (password: string): Promise<void> => {
    const body = { password };
    const { codes: renewed } = await call<RecoveryCodes>("/account/recovery-codes", {
      method: "POST",
      body,
    });
    await finish(renewed);
  };
  const disable = async (password: string): Promise<void> => {
    await call("/account/totp/disable", { method: "POST", body: { password } });
    showToast(t("toast.done"));
    await finish();
  };
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          {t("account.twoFactor")}
          <Badge tone={isOn ? "good" : "neutral"}>
            {t(isOn ? "account.twoFactor.on" : "account.twoFactor.off")}
          </Badge>
        </span>
      }
    >
      <div className="flex flex-wrap items-center justify-between gap-3 p-4">
        <p className="min-w-0 flex-1 text-muted">
          {user.sign_in === "oidc" ? t("account.password.oidc") : t("account.twoFactor.hint")}
          {left !== null && (
            <span className="block">{t("account.twoFactor.left", { count: left })}</span>
          )}
        </p>
        {user.sign_in === "password" && (
          <span className="flex flex-wrap gap-2">
            {isOn ? (
              <>
                <Button onClick={() => setStep("codes")}>{t("account.twoFactor.newCodes")}</Button>
                <Button onClick={() => setStep("disable")}>{t("account.twoFactor.disable")}</Button>
              </>
            ) : (
              <Button onClick={() => setStep("setUp")}>{t("account.twoFactor.setUp")}</Button>
            )}
          </span>
        )}
      </div>
      <Dialog
        title={t("account.twoFactor")}
        isOpen={step !== undefined}
        onClose={() => setStep(undefined)}
      >
        {step === "setUp" && <TotpSetup onEnabled={finish} />}
        {step === "codes" && (
          <ConfirmPassword action={t("account.twoFactor.newCodes")} onConfirmed={renew} />
        )}
        {step === "disable" && (
          <ConfirmPassword action={t("account.twoFactor.disable")} onConfirmed={disable} />
        )}
      </Dialog>
      <RecoveryCodesDialog codes={codes} onClose={() => setCodes(undefined)} />
    </Card>
  );
}
