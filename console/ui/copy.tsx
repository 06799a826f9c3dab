/** Text that people copy: ids, keys, code. */
import { useEffect, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";

const shownMs = 1500;

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setCopied(true);
  };
  return (
    <Button size="small" onClick={copy} aria-live="polite">
      {isCopied ? t("action.copied") : (label ?? t("action.copy"))}
    </Button>
  );
}

/** `navigator.clipboard` exists in secure contexts only; a gateway on plain http in a company network is not one. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
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
