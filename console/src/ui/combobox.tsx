/** A choice of one or several of many values, found by typing. `Select` is for a few values. */
import * as Radix from "@radix-ui/react-popover";
import { ChevronsUpDown } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import { Button } from "./button.tsx";
import { ComboboxList, type ComboboxOption } from "./combobox-list.tsx";
import { floatingStyle } from "./floating-style.ts";
import { controlStyle } from "./input.tsx";

export type { ComboboxOption } from "./combobox-list.tsx";

interface SharedProps<Value extends string> {
  readonly options: readonly ComboboxOption<Value>[];
  /** Shown while nothing is chosen. */
  readonly placeholder?: string;
  readonly disabled?: boolean;
  /** Any text may be chosen, not only the options. */
  readonly allowsOther?: boolean;
  /** Called when the list opens, such as to load the options. */
  readonly onOpen?: () => void;
  /** Called with the text of the search, if the server searches a list that is too long to load. */
  readonly onSearch?: (text: string) => void;
  readonly className?: string;
  readonly id?: string;
  readonly name?: string;
  readonly "aria-label"?: string;
  readonly "aria-describedby"?: string | undefined;
  readonly "aria-invalid"?: boolean;
}

interface ComboboxProps<Value extends string> extends SharedProps<Value> {
  /** Empty: nothing is chosen. */
  readonly value: Value | "";
  readonly onChange: (value: Value) => void;
}

export function Combobox<Value extends string>(props: ComboboxProps<Value>) {
  const {
    value,
    onChange,
    options,
    allowsOther = false,
    placeholder,
    onOpen,
    onSearch,
    ...trigger
  } = props;
  const [isOpen, setOpen] = useState(false);
  const chosen = options.find((option) => option.value === value);
  const text = chosen?.label ?? value;
  return (
    <Frame
      {...trigger}
      isOpen={isOpen}
      setOpen={(opens) => {
        if (opens) onOpen?.();
        setOpen(opens);
      }}
      text={text === "" ? undefined : text}
      icon={chosen?.icon}
      placeholder={placeholder}
    >
      <ComboboxList
        options={options}
        selected={[value]}
        allowsOther={allowsOther}
        onSearch={onSearch}
        onSelect={(next) => {
          onChange(next as Value);
          setOpen(false);
        }}
      />
    </Frame>
  );
}

interface MultiComboboxProps<Value extends string> extends SharedProps<Value> {
  readonly values: readonly Value[];
  readonly onChange: (values: readonly Value[]) => void;
}

export function MultiCombobox<Value extends string>(props: MultiComboboxProps<Value>) {
  const { values, onChange, options, allowsOther = false, placeholder, ...shared } = props;
  const { onOpen, onSearch, ...trigger } = shared;
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  // The values that were chosen when the list was opened come first. Rows do not move while it is open.
  const [first, setFirst] = useState(values);
  const optionOf = (value: Value): ComboboxOption<Value> =>
    options.find((option) => option.value === value) ?? { value, label: value };
  const labels = values.map((value) => optionOf(value).label);
  const toggle = (value: Value): readonly Value[] => {
    const next = values.includes(value)
      ? values.filter((each) => each !== value)
      : [...values, value];
    // In the order of the options, so that what is shown for them keeps its place. Other texts come last.
    const order = options.map((option) => option.value).filter((each) => next.includes(each));
    return [...order, ...next.filter((each) => !order.includes(each))];
  };
  return (
    <Frame
      {...trigger}
      isOpen={isOpen}
      setOpen={(opens) => {
        setFirst(values);
        if (opens) onOpen?.();
        setOpen(opens);
      }}
      text={labels.length === 0 ? undefined : labels.join(", ")}
      count={labels.length}
      placeholder={placeholder}
    >
      <ComboboxList
        isMultiple
        allowsOther={allowsOther}
        onSearch={onSearch}
        options={[
          ...first.map((value) => optionOf(value)),
          ...options.filter(({ value }) => !first.includes(value)),
        ]}
        selected={values}
        onSelect={(value) => onChange(toggle(value as Value))}
      />
      {values.length > 0 && (
        <div className="border-t border-line p-1">
          <Button size="small" look="quiet" onClick={() => onChange([])}>
            {t("combobox.clear")}
          </Button>
        </div>
      )}
    </Frame>
  );
}

interface FrameProps
  extends Omit<
    SharedProps<string>,
    "options" | "placeholder" | "allowsOther" | "onOpen" | "onSearch"
  > {
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  /** Undefined if nothing is chosen. */
  readonly text: string | undefined;
  readonly icon?: ReactNode;
  readonly count?: number;
  readonly placeholder: string | undefined;
  readonly children: ReactNode;
}

function Frame(props: FrameProps) {
  const {
    isOpen,
    setOpen,
    text,
    icon,
    count = 0,
    placeholder,
    className,
    children,
    ...trigger
  } = props;
  const t = useT();
  return (
    // Modal: the list scrolls inside a dialog, too.
    <Radix.Root modal open={isOpen} onOpenChange={setOpen}>
      <Radix.Trigger
        {...trigger}
        type="button"
        role="combobox"
        className={classNames(controlStyle, "flex h-9 items-center gap-2 text-left", className)}
      >
        {icon}
        {count > 1 && (
          <span className="rounded bg-accent-soft px-1.5 text-xs text-accent">{count}</span>
        )}
        <span className={classNames("min-w-0 flex-1 truncate", text === undefined && "text-muted")}>
          {text ?? placeholder ?? t("combobox.choose")}
        </span>
        <ChevronsUpDown className="text-muted" />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={t("combobox.options")}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          className={classNames(
            floatingStyle,
            "w-(--radix-popover-trigger-width) max-w-[94vw] min-w-64 overflow-hidden",
          )}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
