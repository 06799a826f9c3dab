/** A small button with an icon. Its label is a tooltip, and the name for screen readers. */
import type { LucideIcon } from "lucide-react";
import type { ComponentProps } from "react";
import { Button } from "./button.tsx";
import { Tooltip } from "./tooltip.tsx";

interface IconButtonProps extends ComponentProps<typeof Button> {
  readonly icon: LucideIcon;
  readonly label: string;
}

export const IconButton = ({ icon: Icon, label, ...props }: IconButtonProps) => (
  <Tooltip text={label}>
    <Button size="small" look="quiet" aria-label={label} {...props}>
      <Icon />
    </Button>
  </Tooltip>
);
