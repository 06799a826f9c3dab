/** A choice of one of several values. */
import * as Radix from "@radix-ui/react-select";
import { ChevronDown } from "lucide-react";
import { classNames } from "../lib/class-names.ts";
import { controlStyle } from "./input.tsx";
import { styleNonce } from "./style-nonce.ts";

export interface Option<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
}

interface SelectProps<Value extends string> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly Option<Value>[];
  readonly disabled?: boolean;
  readonly className?: string;
  readonly id?: string;
  readonly name?: string;
  readonly "aria-label"?: string;
  readonly "aria-describedby"?: string | undefined;
  readonly "aria-invalid"?: boolean;
}

/** Options whose labels are their values. */
export const optionsOf = (values: readonly string[]): readonly Option[] =>
  values.map((value) => ({ value, label: value }));

export function Select<Value extends string>(props: SelectProps<Value>) {
  const { value, onChange, options, disabled, className, ...attributes } = props;
  return (
    // Radix reserves the empty value, so that every value has a prefix there.
    <Radix.Root
      value={`=${value}`}
      onValueChange={(chosen) => onChange(chosen.slice(1) as Value)}
      {...(disabled && { disabled })}
    >
      <Radix.Trigger
        {...attributes}
        className={classNames(
          controlStyle,
          "flex h-9 items-center justify-between gap-2 text-left",
          className,
        )}
      >
        <span className="truncate">
          <Radix.Value />
        </span>
        <ChevronDown className="text-muted" />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          position="popper"
          sideOffset={4}
          className="z-40 max-h-(--radix-select-content-available-height) min-w-(--radix-select-trigger-width) overflow-hidden rounded-md border border-line bg-surface text-sm text-ink shadow-xl"
        >
          <Radix.Viewport {...(styleNonce && { nonce: styleNonce })} className="p-1">
            {options.map((option) => (
              <Radix.Item
                key={option.value}
                value={`=${option.value}`}
                className="cursor-pointer rounded px-2 py-1.5 data-[highlighted]:bg-sunken data-[state=checked]:text-accent"
              >
                {/* The text of an option is its accessible name and what typing finds. */}
                <Radix.ItemText>{option.label || "–"}</Radix.ItemText>
              </Radix.Item>
            ))}
          </Radix.Viewport>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
