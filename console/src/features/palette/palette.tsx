/** The command palette: goes to a page, model, project, key or request, or runs an action, found by typing. */
import * as Radix from "@radix-ui/react-dialog";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { searchOptions } from "../../lib/search-options.ts";
import { type Entry, useEntries } from "./use-entries.ts";

/** Of each group. */
const maxShown = 6;

interface PaletteProps {
  readonly pages: readonly Entry[];
  readonly onClose: () => void;
}

export function Palette({ pages, onClose }: PaletteProps) {
  const t = useT();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const groups = useEntries(text, pages)
    .map(({ label, entries }) => ({ label, entries: searchOptions(entries, text) }))
    .filter(({ entries }) => entries.length > 0);
  const select = ({ to, search = {}, run }: Entry): void => {
    onClose();
    if (to === undefined) void run?.();
    else navigate({ to, search });
  };
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-40 w-[min(40rem,94vw)] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-surface text-ink shadow-xl"
        >
          <Radix.Title className="sr-only">{t("palette.title")}</Radix.Title>
          <Command label={t("palette.title")} shouldFilter={false} loop>
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder={t("palette.placeholder")}
              className="h-12 w-full border-b border-line bg-transparent px-4 text-base outline-none placeholder:text-muted"
            />
            <Command.List
              label={t("combobox.options")}
              className="max-h-[60dvh] overflow-y-auto p-2"
            >
              {groups.map(({ label, entries }) => (
                <Command.Group
                  key={label}
                  heading={label}
                  className="**:[[cmdk-group-heading]]:px-2 **:[[cmdk-group-heading]]:py-1 **:[[cmdk-group-heading]]:text-xs **:[[cmdk-group-heading]]:text-muted"
                >
                  {entries.slice(0, maxShown).map((entry) => (
                    <Command.Item
                      key={entry.value}
                      value={`${label} ${entry.value}`}
                      onSelect={() => select(entry)}
                      className="flex cursor-pointer items-center gap-2 rounded px-2 py-1.5 data-[selected=true]:bg-sunken"
                    >
                      <span className="min-w-0 truncate">{entry.label}</span>
                      {entry.hint !== undefined && (
                        <span className="ml-auto shrink-0 text-xs text-muted">{entry.hint}</span>
                      )}
                    </Command.Item>
                  ))}
                </Command.Group>
              ))}
              {groups.length === 0 && (
                <p role="status" className="px-2 py-1.5 text-muted">
                  {t("combobox.none")}
                </p>
              )}
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
