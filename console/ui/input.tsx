import type { ComponentProps } from "react";
import { classNames } from "../lib/class-names.ts";

const shared =
  "w-full rounded-md border border-line bg-surface px-2.5 text-sm placeholder:text-muted " +
  "aria-invalid:border-bad disabled:opacity-60";

export const Input = ({ className, ...props }: ComponentProps<"input">) => (
  <input {...props} className={classNames(shared, "h-9 read-only:bg-sunken", className)} />
);

/**
 * A number as text: an input of the type `number` gives an empty value for text that is no number.
 * Field shows the message of a text that does not match.
 */
export const NumberInput = (props: ComponentProps<"input">) => (
  <Input {...props} inputMode="decimal" pattern="\s*[0-9]*\.?[0-9]+([eE][+\-]?[0-9]+)?\s*" />
);

export const TextArea = ({ className, ...props }: ComponentProps<"textarea">) => (
  <textarea
    {...props}
    className={classNames(shared, "py-2 leading-5 read-only:bg-sunken", className)}
  />
);

/** The browser's own select: it works with keyboard, screen reader and touch without any script. */
export const Select = ({ className, ...props }: ComponentProps<"select">) => (
  <select {...props} className={classNames(shared, "h-9", className)} />
);
