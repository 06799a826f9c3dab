/**
 * A modal dialog. It keeps the focus inside and closes with Escape, but not with a click beside it: input would be
 * lost. If a form in it has changes that are not saved, it asks before it closes.
 */
import * as Radix from "@radix-ui/react-dialog";
import { X } from "lucide-react";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import { DiscardQuestion } from "./discard-question.tsx";
import { FormFrameContext } from "./form-frame.ts";

interface DialogProps {
  readonly title: string;
  readonly description?: string;
  readonly isOpen: boolean;
  /** If absent, the dialog cannot be closed. */
  readonly onClose?: () => void;
  /** `full`: as large as the window, for images. */
  readonly size?: keyof typeof sizes;
  /** Escape does not close the dialog: its content cannot be shown again. */
  readonly ignoresEscape?: boolean;
  readonly children: ReactNode;
}

const sizes = {
  normal: "max-h-[90dvh] w-[min(36rem,94vw)] overflow-y-auto p-5",
  full: "flex h-[96dvh] w-[96vw] flex-col overflow-y-auto p-4",
} as const;

export function Dialog(props: DialogProps) {
  const { title, description, isOpen, onClose, children } = props;
  const { size = "normal", ignoresEscape = false } = props;
  const t = useT();
  const opener = useRef<Element>(null);
  const [hasChanges, setHasChanges] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const close = (): void => {
    setAsking(false);
    onClose?.();
  };
  const leave = (): void => (hasChanges ? setAsking(true) : close());
  const leaving = useRef(leave);
  leaving.current = leave;
  const isClosable = onClose !== undefined;
  const frame = useMemo(
    () => ({
      report: setHasChanges,
      cancel: isClosable ? () => leaving.current() : undefined,
    }),
    [isClosable],
  );
  return (
    <Radix.Root open={isOpen} onOpenChange={(isNowOpen) => !isNowOpen && isClosable && leave()}>
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
          className={classNames(
            "fixed top-1/2 left-1/2 z-30 -translate-1/2 rounded-lg border border-line bg-surface text-ink shadow-xl",
            sizes[size],
          )}
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="mt-1 text-muted">{description}</Radix.Description>
              )}
            </div>
            {onClose && (
              <Radix.Close
                aria-label={t("action.close")}
                className="rounded p-1 text-muted hover:bg-sunken"
              >
                <X />
              </Radix.Close>
            )}
          </div>
          <FormFrameContext value={frame}>{children}</FormFrameContext>
          <DiscardQuestion
            isOpen={isOpen && isAsking}
            onKeep={() => setAsking(false)}
            onDiscard={close}
          />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
