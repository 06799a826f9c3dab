/** How the first target of a request was selected, or why none was. */
import type { RequestDetail } from "../../../contract/admin.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { Translate } from "../../i18n/messages.ts";

const policies: Readonly<Record<string, MessageKey>> = {
  p2c: "request.why.p2c",
  weighted: "request.why.weighted",
  cost: "request.why.cost",
  sticky: "request.why.sticky",
  probe: "request.why.probe",
  degraded: "request.why.degraded",
};

type Selection = Pick<
  RequestDetail,
  "candidates" | "policy" | "tier" | "attempts" | "error" | "cached_inputs"
>;

export function selectionReason(request: Selection, t: Translate): string {
  const { candidates, policy, tier, attempts } = request;
  if (candidates === null && attempts > 0) return t("request.why.unrecorded");
  if (candidates === null) {
    return t("request.why.none", { reason: t(noTargetReason(request)) });
  }
  const reason = t(reasonKey(candidates, policy), { count: candidates });
  return tier === null ? reason : `${reason} ${t("request.why.tier", { tier })}`;
}

function reasonKey(candidates: number, policy: string | null): MessageKey {
  const hadChoice = candidates > 1 || policy === "probe" || policy === "degraded";
  return hadChoice ? (policies[policy ?? ""] ?? "request.why.p2c") : "request.why.single";
}

function noTargetReason({ error, cached_inputs }: Selection): MessageKey {
  if (error !== null) return "request.why.refused";
  // Only embeddings requests count cached inputs.
  return cached_inputs === null ? "request.why.replayed" : "request.why.cached";
}
