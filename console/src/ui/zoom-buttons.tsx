/** The zoom of a canvas, in its corner. */
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { useT } from "../i18n/messages.ts";
import type { PanZoom } from "../lib/use-pan-zoom.ts";
import { Button } from "./button.tsx";

export function ZoomButtons({ panZoom }: { panZoom: PanZoom }) {
  const t = useT();
  return (
    <div className="absolute top-2 right-2 flex gap-1">
      <Button size="small" aria-label={t("mask.zoomIn")} onClick={panZoom.zoomIn}>
        <ZoomIn size={14} />
      </Button>
      <Button size="small" aria-label={t("mask.zoomOut")} onClick={panZoom.zoomOut}>
        <ZoomOut size={14} />
      </Button>
      <Button size="small" aria-label={t("mask.fit")} onClick={panZoom.reset}>
        <Maximize size={14} />
      </Button>
    </div>
  );
}
