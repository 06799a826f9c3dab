/** Why the target of an attempt was selected, from the router's own decision, or why none was. */
import type {
  RequestDetail,
  SelectionReason,
  TargetSelection,
} from "../../../../contract/admin.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { Translate } from "../../i18n/messages.ts";

const reasons: Readonly<Record<SelectionReason, MessageKey>> = {
  only: "request.why.only",
  p2c: "request.why.p2c",
  weighted: "request.why.weighted",
  cost: "request.why.cost",
  sticky: "request.why.sticky",
  probe: "request.why.probe",
  unhealthy: "request.why.unhealthy",
  failover: "request.why.failover",
  retry: "request.why.retry",
  hedge: "request.why.hedge",
};

/** `null`: the selection is not recorded. */
export function selectionReason(selection: TargetSelection | null, t: Translate): string {
  if (selection === null) return t("request.why.unrecorded");
  const { by, candidates, tier, is_later_tier, failed } = selection;
  if (by === "only" && tier !== null) {
    return t(is_later_tier ? "request.why.onlyInLaterTier" : "request.why.onlyInTier", { tier });
  }
  const reason = t(reasons[by], {
    count: candidates,
    target: failed?.target ?? "",
    error: failed?.error ?? "",
  });
  if (tier === null) return reason;
  return `${reason} ${t(is_later_tier ? "request.why.laterTier" : "request.why.tier", { tier })}`;
}

type Unsent = Pick<RequestDetail, "error" | "cached_inputs" | "attempts">;

/** Of a request without a recorded attempt. */
export function noAttemptReason({ error, cached_inputs, attempts }: Unsent, t: Translate): string {
  if (attempts > 0) return t("request.why.unrecorded");
  if (error !== null) return t("request.why.refused", { error });
  // Only embeddings requests count cached inputs.
  return t(cached_inputs === null ? "request.why.replayed" : "request.why.cached");
}
