import type { ModelTarget } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";

/** Of the health of a target. */
export const targetTones: Readonly<Record<ModelTarget["state"], Tone>> = {
  healthy: "good",
  cooling: "warn",
  half_open: "warn",
  ejected: "bad",
};

/** Its health is not known: no request was sent to it. */
export const isUnused = ({ state, counts }: ModelTarget): boolean =>
  state === "healthy" && Object.values(counts).every((count) => count === 0);

/** The health of a target; its reason is text for everyone, not only a tooltip. */
export function TargetState({ target }: { target: ModelTarget }) {
  const t = useT();
  if (isUnused(target)) return <Badge>{t("target.unused")}</Badge>;
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      <Badge tone={targetTones[target.state]}>{t(`target.${target.state}`)}</Badge>
      {target.reason !== null && (
        <span className="text-xs text-muted">{serverText(target.reason, target.i18n)}</span>
      )}
    </span>
  );
}
