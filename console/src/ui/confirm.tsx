/** The confirmation dialog of actions that cannot be undone. */
import { useState } from "react";
import { errorText } from "../api/client.ts";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface ConfirmProps {
  readonly label: string;
  readonly title: string;
  readonly description: string;
  readonly onConfirm: () => Promise<unknown>;
}

export function ConfirmButton({ label, title, description, onConfirm }: ConfirmProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<string>();
  const confirm = async (): Promise<void> => {
    try {
      await onConfirm();
      setOpen(false);
    } catch (reason) {
      setError(errorText(reason));
    }
  };
  return (
    <>
      <Button size="small" look="quiet" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog
        title={title}
        description={description}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        {error !== undefined && (
          <p role="alert" className="mb-3 text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>{t("action.cancel")}</Button>
          <Button look="danger" onClick={confirm}>
            {label}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
