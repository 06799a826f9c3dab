/** A menu of actions behind a button, such as those of a row of a table. */
import * as Radix from "@radix-ui/react-dropdown-menu";
import { Ellipsis, type LucideIcon } from "lucide-react";
import type { ReactElement } from "react";
import { classNames } from "../lib/class-names.ts";
import { Button } from "./button.tsx";
import { floatingStyle } from "./floating-style.ts";

export interface MenuItem {
  readonly label: string;
  readonly onSelect: () => void;
  readonly icon?: LucideIcon;
  readonly isDisabled?: boolean;
  /** Deletes or stops something. */
  readonly isDangerous?: boolean;
  /** Downloads a file, so that the browser writes a large one to the disk while it arrives. */
  readonly download?: string;
}

interface MenuProps {
  /** What the actions apply to, for screen readers. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** The button. The default is a button with three dots. */
  readonly trigger?: ReactElement;
}

export const Menu = ({ label, items, trigger }: MenuProps) => (
  <Radix.Root>
    <Radix.Trigger asChild>
      {trigger ?? (
        <Button size="small" look="quiet" aria-label={label}>
          <Ellipsis />
        </Button>
      )}
    </Radix.Trigger>
    <Radix.Portal>
      <Radix.Content
        align="end"
        sideOffset={4}
        collisionPadding={8}
        className={classNames(floatingStyle, "min-w-40 p-1")}
      >
        {items.map(
          ({ label: text, onSelect, icon: Icon, isDisabled = false, isDangerous, download }) => (
            <Radix.Item
              key={text}
              asChild={download !== undefined}
              disabled={isDisabled}
              onSelect={onSelect}
              className={classNames(
                "flex cursor-pointer items-center gap-2 rounded px-2 py-1.5 outline-none",
                "data-[highlighted]:bg-sunken data-[disabled]:cursor-not-allowed data-[disabled]:opacity-50",
                isDangerous && "text-bad",
              )}
            >
              {download === undefined ? (
                <>
                  {Icon && <Icon />}
                  {text}
                </>
              ) : (
                <a href={download} download>
                  {text}
                </a>
              )}
            </Radix.Item>
          ),
        )}
      </Radix.Content>
    </Radix.Portal>
  </Radix.Root>
);
