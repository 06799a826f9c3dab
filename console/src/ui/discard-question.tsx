/** Asks whether changes that are not saved may be lost. Escape keeps them: two presses of the key must not lose them. */
import * as Radix from "@radix-ui/react-dialog";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";

interface DiscardQuestionProps {
  readonly isOpen: boolean;
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

export function DiscardQuestion({ isOpen, onKeep, onDiscard }: DiscardQuestionProps) {
  const t = useT();
  return (
    <Radix.Root open={isOpen} onOpenChange={(isNowOpen) => !isNowOpen && onKeep()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          role="alertdialog"
          onInteractOutside={(event) => event.preventDefault()}
          className="fixed top-1/2 left-1/2 z-40 w-[min(26rem,94vw)] -translate-1/2 rounded-lg border border-line bg-surface p-5 text-ink shadow-xl"
        >
          <Radix.Title className="text-base font-semibold">{t("dialog.discard.title")}</Radix.Title>
          <Radix.Description className="mt-1 mb-4 text-muted">
            {t("dialog.discard.description")}
          </Radix.Description>
          <div className="flex justify-end gap-2">
            <Button onClick={onKeep}>{t("dialog.discard.keep")}</Button>
            <Button look="danger" onClick={onDiscard}>
              {t("dialog.discard.confirm")}
            </Button>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
