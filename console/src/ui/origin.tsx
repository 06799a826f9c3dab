/** Marks entities that are defined outside the console with a lock, whose tooltip says where, without the folder. */
import { Lock } from "lucide-react";
import type { Origin } from "../../../contract/admin.ts";
import { type Translate, useT } from "../i18n/messages.ts";
import { Tooltip } from "./tooltip.tsx";

/** Such as `/etc/vexel/vexel.yaml line 12`. */
const fileAndLine = /([^/\\]+) line (\d+)$/;

export function originText({ source, location }: Origin, t: Translate): string {
  const [, file, line] = fileAndLine.exec(location ?? "") ?? [];
  return file && line ? t("origin.line", { file, line }) : t(`origin.${source}`);
}

export function OriginBadge({ origin }: { origin: Origin }) {
  const t = useT();
  if (origin.source === "store") return null;
  const text = t("origin.managed", { place: originText(origin, t) });
  return (
    <Tooltip text={text}>
      <button type="button" aria-label={text} className="inline-flex cursor-default text-muted">
        <Lock size={14} />
      </button>
    </Tooltip>
  );
}
