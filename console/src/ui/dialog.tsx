/**
 * A modal dialog. It keeps the focus inside and closes with Escape, but not with a click beside it: input would be
 * lost.
 */
import * as Radix from "@radix-ui/react-dialog";
import { type ReactNode, useRef } from "react";
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
  const opener = useRef<Element>(null);
  return (
    <Radix.Root open={isOpen} onOpenChange={(isNowOpen) => !isNowOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-30 bg-black/40" />
        <Radix.Content
          {...(description === undefined && { "aria-describedby": undefined })}
          onEscapeKeyDown={(event) => ignoresEscape && event.preventDefault()}
          onOpenAutoFocus={() => {
            opener.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
          onInteractOutside={(event) => event.preventDefault()}
          className="fixed top-1/2 left-1/2 z-30 max-h-[90dvh] w-[min(36rem,94vw)] -translate-1/2 overflow-y-auto rounded-lg border border-line bg-surface p-5 text-ink shadow-xl"
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="mt-1 text-muted">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close
              aria-label={t("action.close")}
              className="rounded p-1 text-muted hover:bg-sunken"
            >
              <Icon name="close" />
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
