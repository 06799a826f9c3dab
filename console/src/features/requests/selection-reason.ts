/** How the target of a request was selected, or why none was. */
import type { RequestAttempt, RequestDetail } from "../../../../contract/admin.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { Translate } from "../../i18n/messages.ts";

const policies: Readonly<Record<string, MessageKey>> = {
  p2c: "request.why.p2c",
  weighted: "request.why.weighted",
  cost: "request.why.cost",
  sticky: "request.why.sticky",
  probe: "request.why.probe",
  unhealthy: "request.why.unhealthy",
  failover: "request.why.failover",
  hedge: "request.why.hedge",
};

/** Reasons that hold for one candidate as well. */
const otherReasons = new Set(["probe", "unhealthy", "failover", "hedge"]);

type Selection = Pick<
  RequestDetail,
  | "candidates"
  | "policy"
  | "tier"
  | "attempts"
  | "error"
  | "cached_inputs"
  | "timeline"
  | "upstream"
  | "target_model"
>;

export function selectionReason(request: Selection, t: Translate): string {
  const { candidates, policy, tier, attempts } = request;
  if (candidates === null && attempts > 0) return t("request.why.unrecorded");
  if (candidates === null) {
    return t("request.why.none", { reason: t(noTargetReason(request)) });
  }
  const failed = policy === "failover" ? failedBefore(request) : undefined;
  const reason = failed
    ? t("request.why.failoverFrom", { target: failed.target, error: failed.error ?? "" })
    : t(reasonKey(candidates, policy), { count: candidates });
  return tier === null ? reason : `${reason} ${t("request.why.tier", { tier })}`;
}

function reasonKey(candidates: number, policy: string | null): MessageKey {
  const hadChoice = candidates > 1 || otherReasons.has(policy ?? "");
  return hadChoice ? (policies[policy ?? ""] ?? "request.why.p2c") : "request.why.single";
}

/** The failed attempt before the last attempt at the target of the row. Undefined: the timeline does not have it. */
function failedBefore({ timeline, upstream, target_model }: Selection) {
  const isOwn = ({ target }: RequestAttempt) => target === `${upstream}/${target_model}`;
  return timeline
    .slice(0, timeline.findLastIndex(isOwn))
    .findLast(({ error }) => error !== null && error !== "canceled");
}

function noTargetReason({ error, cached_inputs }: Selection): MessageKey {
  if (error !== null) return "request.why.refused";
  // Only embeddings requests count cached inputs.
  return cached_inputs === null ? "request.why.replayed" : "request.why.cached";
}
