/** The zoom of a canvas. */
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import type { PanZoom } from "../lib/use-pan-zoom.ts";
import { IconButton } from "./icon-button.tsx";

interface ZoomButtonsProps {
  readonly panZoom: PanZoom;
  /** Such as its place on the canvas. */
  readonly className?: string;
}

export function ZoomButtons({ panZoom, className }: ZoomButtonsProps) {
  const t = useT();
  return (
    <div className={classNames("flex rounded-md bg-surface text-ink", className)}>
      <IconButton icon={ZoomIn} label={t("mask.zoomIn")} onClick={panZoom.zoomIn} />
      <IconButton icon={ZoomOut} label={t("mask.zoomOut")} onClick={panZoom.zoomOut} />
      <IconButton icon={Maximize} label={t("mask.fit")} onClick={panZoom.reset} />
    </div>
  );
}
