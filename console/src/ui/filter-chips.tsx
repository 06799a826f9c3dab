/** The filters that are set as chips, and a button that adds one more. */
import { Plus, X } from "lucide-react";
import type { ReactNode } from "react";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { Popover } from "./popover.tsx";

interface FilterChipProps {
  readonly name: string;
  readonly value: string;
  readonly onRemove: () => void;
}

export function FilterChip({ name, value, onRemove }: FilterChipProps) {
  const t = useT();
  const text = t("text.pair", { name, value });
  return (
    <span className="inline-flex h-7 max-w-full items-center gap-1 rounded-md border border-accent bg-accent-soft pl-2 text-xs text-accent">
      <span className="truncate">{text}</span>
      <button
        type="button"
        aria-label={t("usage.filter.remove", { filter: text })}
        className="grid size-7 place-items-center rounded-md hover:opacity-70"
        onClick={onRemove}
      >
        <X className="size-3.5" />
      </button>
    </span>
  );
}

/** `children`: the fields of the new filter. */
export function AddFilter({ children }: { children: ReactNode }) {
  const t = useT();
  return (
    <Popover
      label={t("usage.filter.add")}
      trigger={
        <Button size="small">
          <Plus className="size-3.5" />
          {t("usage.filter.add")}
        </Button>
      }
    >
      {children}
    </Popover>
  );
}
