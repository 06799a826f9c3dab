/**
 * A short explanation of a control, shown while it has the pointer or the focus. It is not shown on touch screens, so
 * it never contains what a user must know.
 */
import * as Radix from "@radix-ui/react-tooltip";
import type { ReactElement, ReactNode } from "react";

const delayMs = 300;

interface TooltipProps {
  readonly text: ReactNode;
  /** A button, a link, or another element that takes the focus. */
  readonly children: ReactElement;
}

/** Each has its own provider: one around all pages would be loaded before a page without tooltips is shown. */
export const Tooltip = ({ text, children }: TooltipProps) => (
  <Radix.Provider delayDuration={delayMs}>
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
  </Radix.Provider>
);
