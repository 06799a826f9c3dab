/** The pages of a long list: which rows are shown, and buttons for the pages before and after. */
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";

interface PagerProps {
  /** From 0. */
  readonly page: number;
  readonly pageRows: number;
  readonly rows: number;
  readonly onChange: (page: number) => void;
}

export function Pager({ page, pageRows, rows, onChange }: PagerProps) {
  const t = useT();
  const last = Math.ceil(rows / pageRows) - 1;
  const [from, to] = [page * pageRows + 1, Math.min(rows, (page + 1) * pageRows)];
  return (
    <nav
      aria-label={t("table.pages")}
      className="flex items-center justify-end gap-2 border-t border-line px-4 py-2 text-xs text-muted"
    >
      <span className="tabular-nums">{t("table.range", { from, to, rows })}</span>
      <Button
        size="small"
        aria-label={t("table.previous")}
        disabled={page === 0}
        onClick={() => onChange(page - 1)}
      >
        <ChevronLeft size={14} aria-hidden="true" />
      </Button>
      <Button
        size="small"
        aria-label={t("table.next")}
        disabled={page === last}
        onClick={() => onChange(page + 1)}
      >
        <ChevronRight size={14} aria-hidden="true" />
      </Button>
    </nav>
  );
}
