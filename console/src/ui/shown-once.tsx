/** A secret that is shown once, such as a token or a link: Escape does not close the dialog. */
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

interface ShownOnceProps {
  readonly title: string;
  readonly description: string;
  /** Undefined if the dialog is closed. */
  readonly text: string | undefined;
  readonly onClose: () => void;
}

export function ShownOnce({ title, description, text, onClose }: ShownOnceProps) {
  const t = useT();
  return (
    <Dialog
      title={title}
      description={description}
      isOpen={text !== undefined}
      ignoresEscape
      onClose={onClose}
    >
      <code className="mb-4 block rounded-md bg-sunken p-3 font-mono text-xs break-all">
        {text}
      </code>
      <div className="flex justify-end gap-2">
        <CopyButton text={text ?? ""} />
        <Button look="primary" onClick={onClose}>
          {t("action.close")}
        </Button>
      </div>
    </Dialog>
  );
}
