/** A button. It submits no form, unless its type is `submit`. */
import type { ComponentProps } from "react";
import { classNames } from "../lib/class-names.ts";

const styles = {
  primary: "bg-accent text-accent-ink hover:opacity-90",
  secondary:
    "border border-line bg-surface hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent",
  danger: "bg-bad text-surface hover:opacity-90",
  quiet: "hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:text-accent",
} as const;

export interface ButtonLook {
  readonly look?: keyof typeof styles;
  readonly size?: "normal" | "small";
}

/** The classes of a button, also for a link that looks like one. */
export const buttonStyle = ({ look = "secondary", size = "normal" }: ButtonLook): string =>
  classNames(
    "inline-flex items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap",
    "disabled:cursor-not-allowed disabled:opacity-50",
    size === "small" ? "h-7 px-2 text-xs" : "h-9 px-3 text-sm",
    styles[look],
  );

interface ButtonProps extends ComponentProps<"button">, ButtonLook {}

export const Button = ({ look, size, className, ...props }: ButtonProps) => (
  <button
    type="button"
    {...props}
    className={classNames(buttonStyle({ ...(look && { look }), ...(size && { size }) }), className)}
  />
);
