/** Short messages that an action is done, in a corner of the page. Errors stay beside their forms instead. */
import * as Radix from "@radix-ui/react-toast";
import { CircleCheck, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { useT } from "../i18n/messages.ts";

interface ShownToast {
  readonly id: number;
  readonly text: string;
}

const shownMs = 5_000;
const maxShown = 3;

let toasts: readonly ShownToast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function replace(next: readonly ShownToast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shows a translated message for a few seconds, such as "Saved". */
export function showToast(text: string): void {
  lastId += 1;
  replace([...toasts, { id: lastId, text }].slice(-maxShown));
}

/** Once, beside the pages. */
export function Toasts() {
  const t = useT();
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <Radix.Provider duration={shownMs} label={t("toast.label")}>
      {shown.map(({ id, text }) => (
        <Radix.Root
          key={id}
          onOpenChange={(isOpen) => !isOpen && replace(toasts.filter((toast) => toast.id !== id))}
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
