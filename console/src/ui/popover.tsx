/** Content that opens beside a button, such as more filters. It closes with Escape or a click beside it. */
import * as Radix from "@radix-ui/react-popover";
import type { ReactElement, ReactNode } from "react";
import { classNames } from "../lib/class-names.ts";
import { floatingStyle } from "./floating-style.ts";

interface PopoverProps {
  /** What the content is, for screen readers. */
  readonly label: string;
  /** A button that opens the content. */
  readonly trigger: ReactElement;
  readonly align?: "start" | "center" | "end";
  readonly className?: string;
  readonly children: ReactNode;
}

export const Popover = ({ label, trigger, align = "start", className, children }: PopoverProps) => (
  <Radix.Root>
    <Radix.Trigger asChild>{trigger}</Radix.Trigger>
    <Radix.Portal>
      <Radix.Content
        aria-label={label}
        align={align}
        sideOffset={4}
        collisionPadding={8}
        className={classNames(
          floatingStyle,
          "max-h-(--radix-popover-content-available-height) w-80 max-w-[94vw] overflow-y-auto p-4",
          className,
        )}
      >
        {children}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
);
