/** Opens the command palette: a button of the menu, and Ctrl+K or Cmd+K on every page. */
import { Search } from "lucide-react";
import { Suspense, useEffect, useState } from "react";
import { lazyComponent } from "../../api/chunks.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";

const Palette = lazyComponent(async () => (await import("./palette.tsx")).Palette);

const keyName = /mac/i.test(navigator.platform) ? "⌘K" : "Ctrl+K";

interface OpenPaletteProps {
  readonly pages: readonly { readonly path: string; readonly label: MessageKey }[];
}

export function OpenPalette({ pages }: OpenPaletteProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      if (event.altKey || event.shiftKey) return;
      // The browser would open its own search.
      event.preventDefault();
      setOpen((before) => !before);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
        className="flex items-center gap-2 rounded-md border border-line px-2 py-1 text-muted hover:bg-sunken"
      >
        <Search size={14} aria-hidden="true" />
        {t("palette.open")}
        <kbd className="ml-auto font-sans text-xs">{keyName}</kbd>
      </button>
      <Suspense>
        {isOpen && (
          <Palette
            pages={pages.map(({ path, label }) => ({ value: path, label: t(label), to: path }))}
            onClose={() => setOpen(false)}
          />
        )}
      </Suspense>
    </>
  );
}
