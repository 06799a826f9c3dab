/**
 * A short explanation of a control, shown while it has the pointer or the focus. It is not shown on touch screens, so
 * it never contains what a user must know.
 */
import * as Radix from "@radix-ui/react-tooltip";
import type { ReactElement, ReactNode } from "react";

const delayMs = 300;

/** Around all pages: after the first tooltip, the next ones open without a delay. */
export const TooltipProvider = ({ children }: { children: ReactNode }) => (
  <Radix.Provider delayDuration={delayMs}>{children}</Radix.Provider>
);

interface TooltipProps {
  readonly text: ReactNode;
  /** A button, a link, or another element that takes the focus. */
  readonly children: ReactElement;
}

export const Tooltip = ({ text, children }: TooltipProps) => (
  <Radix.Root>
    <Radix.Trigger asChild>{children}</Radix.Trigger>
    <Radix.Portal>
      <Radix.Content
        sideOffset={4}
        collisionPadding={8}
        className="z-50 max-w-xs rounded-md bg-ink px-2 py-1 text-xs text-page shadow-lg"
      >
        {text}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
);
