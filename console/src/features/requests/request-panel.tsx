/** One request beside the list: j and k show the next and the previous one, Escape closes it. */
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { ButtonLink } from "../../ui/button-link.tsx";
import { QueryView } from "../../ui/states.tsx";
import { RequestParts, requestQuery } from "./request-parts.tsx";

interface RequestPanelProps {
  /** Of the list, in its order. */
  readonly ids: readonly string[];
  /** Undefined: no request is open. */
  readonly open: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
}

/** Keys that a user types, and those of a menu or a dialog, are not for the panel. */
const isElsewhere = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest("input, textarea, select, [contenteditable], [role=dialog], [role=listbox]") !==
    null;

export function RequestPanel({ ids, open, onOpen }: RequestPanelProps) {
  const t = useT();
  const at = open === undefined ? -1 : ids.indexOf(open);
  const [previous, next] = [at > 0 ? ids[at - 1] : undefined, ids[at + 1]];
  useEffect(() => {
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
      if (ctrlKey || metaKey || altKey || isElsewhere(target)) return;
      if (key === "j" && next !== undefined) onOpen(next);
      if (key === "k" && previous !== undefined) onOpen(previous);
      if (key === "Escape" && open !== undefined) onOpen(undefined);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [next, previous, open, onOpen]);
  if (open === undefined) return null;
  return (
    <aside
      aria-label={t("request.title")}
      className="fixed inset-y-0 right-0 z-20 flex w-full flex-col border-l border-line bg-page shadow-xl sm:w-[36rem] xl:w-[42rem]"
    >
      <header className="flex items-center gap-1 border-b border-line bg-surface px-3 py-2">
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold" title={open}>
          {open}
        </h2>
        <Step label={t("requests.panel.previous")} id={previous} onOpen={onOpen}>
          <ChevronUp />
        </Step>
        <Step label={t("requests.panel.next")} id={next} onOpen={onOpen}>
          <ChevronDown />
        </Step>
        <ButtonLink to="/requests/$id" params={{ id: open }}>
          {t("requests.panel.page")}
        </ButtonLink>
        <Button
          size="small"
          look="quiet"
          aria-label={t("action.close")}
          onClick={() => onOpen(undefined)}
        >
          <X />
        </Button>
      </header>
      <OpenRequest key={open} id={open} />
    </aside>
  );
}

function OpenRequest({ id }: { id: string }) {
  const t = useT();
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label={t("requests.panel")}
      className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4"
    >
      <QueryView query={useQuery(requestQuery(id))}>
        {(request) => <RequestParts request={request} />}
      </QueryView>
    </section>
  );
}

interface StepProps {
  readonly label: string;
  readonly id: string | undefined;
  readonly onOpen: (id: string) => void;
  readonly children: React.ReactNode;
}

const Step = ({ label, id, onOpen, children }: StepProps) => (
  <Button
    size="small"
    look="quiet"
    aria-label={label}
    title={label}
    disabled={id === undefined}
    onClick={() => id !== undefined && onOpen(id)}
  >
    {children}
  </Button>
);
