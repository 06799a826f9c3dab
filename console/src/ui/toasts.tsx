/** The toasts, in a corner of the page. */
import * as Radix from "@radix-ui/react-toast";
import { CircleCheck, X } from "lucide-react";
import { useT } from "../i18n/messages.ts";
import { closeToast, useToasts } from "./toast.ts";

const shownMs = 5_000;

export function Toasts() {
  const t = useT();
  const shown = useToasts();
  return (
    <Radix.Provider duration={shownMs} label={t("toast.label")}>
      {shown.map(({ id, text }) => (
        <Radix.Root
          key={id}
          onOpenChange={(isOpen) => !isOpen && closeToast(id)}
          className="flex items-center gap-2 rounded-md border border-line bg-surface px-3 py-2.5 text-sm shadow-xl"
        >
          <CircleCheck className="text-good" />
          <Radix.Description className="min-w-0 flex-1 wrap-anywhere">{text}</Radix.Description>
          <Radix.Close
            aria-label={t("action.close")}
            className="rounded p-0.5 text-muted hover:bg-sunken"
          >
            <X />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        label={t("toast.region")}
        className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
      />
    </Radix.Provider>
  );
}
