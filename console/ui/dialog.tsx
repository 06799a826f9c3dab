/** A modal dialog: the browser's own, which keeps the focus inside and closes with Escape. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import { useT } from "../i18n/messages.ts";
import { Icon } from "./icon.tsx";

interface DialogProps {
  readonly title: string;
  readonly description?: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Escape does not close the dialog: its content cannot be shown again. */
  readonly ignoresEscape?: boolean;
  readonly children: ReactNode;
}

export function Dialog(props: DialogProps) {
  const { title, description, isOpen, onClose, ignoresEscape = false, children } = props;
  const t = useT();
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) element.current?.showModal();
    else element.current?.close();
  }, [isOpen]);
  return (
    <dialog
      ref={element}
      onKeyDown={(event) => {
        if (ignoresEscape && event.key === "Escape") event.preventDefault();
      }}
      onCancel={(event) => {
        if (ignoresEscape) event.preventDefault();
      }}
      onClose={(event) => {
        // React passes the event of a dialog inside this one on.
        if (event.target !== event.currentTarget) return;
        // The back gesture of a phone closes a dialog the second time, whatever the handler of the first one says.
        if (ignoresEscape && isOpen) element.current?.showModal();
        else onClose();
      }}
      aria-labelledby={`${id}-title`}
      {...(description !== undefined && { "aria-describedby": `${id}-description` })}
      className="m-auto max-h-[90dvh] w-[min(36rem,94vw)] overflow-y-auto rounded-lg border border-line bg-surface p-5 text-ink shadow-xl backdrop:bg-black/40"
    >
      <div className="mb-4 flex items-start justify-between gap-4">
        <div>
          <h2 id={`${id}-title`} className="text-base font-semibold">
            {title}
          </h2>
          {description !== undefined && (
            <p id={`${id}-description`} className="mt-1 text-muted">
              {description}
            </p>
          )}
        </div>
        <button
          type="button"
          aria-label={t("action.close")}
          onClick={onClose}
          className="rounded p-1 text-muted hover:bg-sunken"
        >
          <Icon name="close" />
        </button>
      </div>
      {isOpen && children}
    </dialog>
  );
}
