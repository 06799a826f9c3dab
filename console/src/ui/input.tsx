/** Text inputs of one or several lines. Selects share their style. */
import type { ComponentProps } from "react";
import { classNames } from "../lib/class-names.ts";

export const controlStyle =
  "w-full rounded-md border border-line bg-surface px-2.5 text-sm placeholder:text-muted " +
  "aria-invalid:border-bad disabled:opacity-60";

export const Input = ({ className, ...props }: ComponentProps<"input">) => (
  <input {...props} className={classNames(controlStyle, "h-9 read-only:bg-sunken", className)} />
);

export const TextArea = ({ className, ...props }: ComponentProps<"textarea">) => (
  <textarea
    {...props}
    className={classNames(controlStyle, "py-2 leading-5 read-only:bg-sunken", className)}
  />
);
