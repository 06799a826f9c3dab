/** The search field and the rows of a combobox. Thousands of options stay fast: only the first rows are rendered. */
import { Command } from "cmdk";
import { Check, Search } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { searchOptions } from "../lib/search-options.ts";

export interface ComboboxOption<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
  /** Smaller text behind the label, which is searched, too. */
  readonly hint?: string;
  /** Before the label, such as the mark of a vendor. */
  readonly icon?: ReactNode;
  readonly isDisabled?: boolean;
}

interface ComboboxListProps {
  readonly options: readonly ComboboxOption[];
  readonly selected: readonly string[];
  readonly onSelect: (value: string) => void;
  readonly isMultiple?: boolean;
  /** Any text may be chosen, not only the options. */
  readonly allowsOther?: boolean;
  readonly onSearch?: ((text: string) => void) | undefined;
}

const maxRows = 100;

export function ComboboxList(props: ComboboxListProps) {
  const { options, selected, onSelect, isMultiple = false, allowsOther = false, onSearch } = props;
  const t = useT();
  const [text, setText] = useState("");
  const found = searchOptions(options, text);
  const other = text.trim();
  const showsOther = allowsOther && other !== "" && !options.some(({ value }) => value === other);
  return (
    <Command
      label={t("combobox.search")}
      shouldFilter={false}
      loop
      {...(selected[0] !== undefined && { defaultValue: rowOf(selected[0]) })}
    >
      <div className="flex items-center gap-2 border-b border-line px-2.5 text-muted">
        <Search />
        <Command.Input
          value={text}
          onValueChange={(next) => {
            setText(next);
            onSearch?.(next);
          }}
          placeholder={t(allowsOther ? "combobox.searchOrType" : "combobox.search")}
          className="h-9 w-full min-w-0 bg-transparent text-sm text-ink outline-none placeholder:text-muted"
        />
      </div>
      <Command.List
        label={t("combobox.options")}
        aria-multiselectable={isMultiple}
        className="max-h-72 overflow-y-auto p-1"
      >
        {showsOther && (
          <Row value={other} onSelect={onSelect}>
            {t("combobox.use", { text: other })}
          </Row>
        )}
        {found.slice(0, maxRows).map(({ value, label, hint, icon, isDisabled = false }) => (
          <Row
            key={value}
            value={value}
            isDisabled={isDisabled}
            onSelect={onSelect}
            isChecked={selected.includes(value)}
            hint={hint}
          >
            {icon}
            <span className="min-w-0 wrap-anywhere">{label || "–"}</span>
            {hint !== undefined && (
              // The description of the option, so that its name is the label alone.
              <span aria-hidden="true" className="ml-auto shrink-0 pl-2 text-xs text-muted">
                {hint}
              </span>
            )}
          </Row>
        ))}
        {found.length > maxRows && (
          <p className="px-2 py-1.5 text-xs text-muted">
            {t("combobox.more", { count: found.length - maxRows })}
          </p>
        )}
        {found.length === 0 && !showsOther && (
          <p role="status" className="px-2 py-1.5 text-muted">
            {t("combobox.none")}
          </p>
        )}
      </Command.List>
    </Command>
  );
}

/** cmdk reserves the empty value, so every value has a prefix there. */
const rowOf = (value: string): string => `=${value}`;

interface RowProps {
  readonly value: string;
  readonly onSelect: (value: string) => void;
  readonly isChecked?: boolean;
  readonly hint?: string | undefined;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

const Row = ({
  value,
  hint,
  isChecked = false,
  isDisabled = false,
  onSelect,
  children,
}: RowProps) => (
  <Command.Item
    value={rowOf(value)}
    disabled={isDisabled}
    aria-checked={isChecked}
    aria-description={hint}
    onSelect={() => onSelect(value)}
    className="flex cursor-pointer items-center gap-2 rounded px-2 py-1.5 data-[disabled=true]:cursor-not-allowed data-[disabled=true]:opacity-50 data-[selected=true]:bg-sunken"
  >
    <Check className={isChecked ? "text-accent" : "invisible"} />
    {children}
  </Command.Item>
);
