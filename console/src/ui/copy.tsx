/** Text that people copy: ids, keys, code. */
import { Check, Copy } from "lucide-react";
import { type MouseEvent, useEffect, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";

const shownMs = 1500;

/** Without a label, the button is an icon. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT();
  const [outcome, setOutcome] = useState<"copied" | "failed">();
  useEffect(() => {
    if (outcome !== "copied") return undefined;
    const timer = setTimeout(() => setOutcome(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async ({ currentTarget }: MouseEvent<HTMLButtonElement>): Promise<void> => {
    setOutcome((await copyText(text, currentTarget)) ? "copied" : "failed");
  };
  return (
    <>
      {label === undefined ? (
        <Button
          size="small"
          look="quiet"
          onClick={copy}
          aria-label={t(outcome === "copied" ? "action.copied" : "action.copy")}
          aria-live="polite"
        >
          {outcome === "copied" ? <Check size={14} /> : <Copy size={14} />}
        </Button>
      ) : (
        <Button size="small" onClick={copy} aria-live="polite">
          {outcome === "copied" ? t("action.copied") : label}
        </Button>
      )}
      {outcome === "failed" && (
        <label role="alert" className="flex min-w-0 flex-col gap-1 bg-surface text-xs text-bad">
          {t("copy.byHand")}
          <textarea
            readOnly
            rows={2}
            value={text}
            ref={select}
            className="rounded-md border border-line p-1 font-mono text-ink"
          />
        </label>
      )}
    </>
  );
}

function select(area: HTMLTextAreaElement | null): void {
  area?.focus({ preventScroll: true });
  area?.select();
}

/** Whether the text was copied. */
async function copyText(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // `navigator.clipboard` exists in secure contexts only, and the browser may refuse it.
    return copySelection(text, button);
  }
}

/** Appends the text to the open dialog, because the rest of the page is inert: nothing there can be selected. */
function copySelection(text: string, button: HTMLElement): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  (button.closest("[role=dialog]") ?? document.body).append(area);
  select(area);
  try {
    return document.activeElement === area && document.execCommand("copy");
  } finally {
    area.remove();
    button.focus();
  }
}

export const CodeBlock = ({ code, label }: { code: string; label: string }) => (
  <div className="relative">
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label={label}
      className="overflow-x-auto rounded-md bg-sunken p-3 pr-20 font-mono text-xs leading-5"
    >
      <pre>{code}</pre>
    </section>
    <div className="absolute top-2 right-2">
      <CopyButton text={code} />
    </div>
  </div>
);
