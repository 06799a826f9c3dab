/** Recovery codes, which are shown once. */
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";

interface RecoveryCodesProps {
  /** Undefined if the dialog is closed. */
  readonly codes: readonly string[] | undefined;
  readonly onClose: () => void;
}

export function RecoveryCodesDialog({ codes, onClose }: RecoveryCodesProps) {
  const t = useT();
  return (
    <Dialog
      title={t("account.codes.title")}
      description={t("account.codes.description")}
      isOpen={codes !== undefined}
      ignoresEscape
      onClose={onClose}
    >
      <ul className="mb-4 grid grid-cols-1 gap-x-6 gap-y-1 rounded-md bg-sunken p-3 font-mono text-sm sm:grid-cols-2">
        {codes?.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <CopyButton text={(codes ?? []).join("\n")} />
        <Button look="primary" onClick={onClose}>
          {t("account.codes.saved")}
        </Button>
      </div>
    </Dialog>
  );
}
