import type { ShownTarget } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";

const tones: Readonly<Record<ShownTarget["state"], Tone>> = {
  healthy: "good",
  cooling: "warn",
  half_open: "warn",
  ejected: "bad",
};

/** The health of a target; its reason is text for everyone, not only a tooltip. */
export function TargetState({ target }: { target: ShownTarget }) {
  const t = useT();
  const isUnused =
    target.state === "healthy" && Object.values(target.counts).every((count) => count === 0);
  if (isUnused) return <Badge>{t("target.unused")}</Badge>;
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      <Badge tone={tones[target.state]}>{t(`target.${target.state}`)}</Badge>
      {target.reason !== null && (
        <span className="text-xs text-muted">{serverText(target.reason, target.i18n)}</span>
      )}
    </span>
  );
}
