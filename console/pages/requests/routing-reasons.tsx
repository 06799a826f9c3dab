import type { RequestDetail } from "../../../contract/admin.ts";
import { type MessageKey, type Translate, useT } from "../../i18n/messages.ts";

const policies: Readonly<Record<string, MessageKey>> = {
  p2c: "request.why.p2c",
  weighted: "request.why.weighted",
  cost: "request.why.cost",
  sticky: "request.why.sticky",
};

function firstChoice(request: RequestDetail, t: Translate): string {
  const { candidates, policy, error, attempts } = request;
  if (candidates === null && attempts > 0) return t("request.why.unrecorded");
  if (candidates === null) {
    const reason = error === null ? t("request.why.cached") : t("request.why.refused");
    return t("request.why.none", { reason });
  }
  if (candidates <= 1) return t("request.why.single");
  return t(policies[policy ?? ""] ?? "request.why.p2c", { count: candidates });
}

/** Why the request went to this target and not to another, and what the gateway changed on the way. */
export function RoutingReasons({ request }: { request: RequestDetail }) {
  const t = useT();
  const { steps, adapted, dropped, batch_size } = request;
  const lines = [
    firstChoice(request, t),
    ...steps,
    ...(batch_size !== null && batch_size > 1 ? [t("request.batch", { count: batch_size })] : []),
    ...(adapted.length > 0 ? [`${t("request.adapted")}: ${adapted.join(", ")}`] : []),
    ...(dropped.length > 0 ? [`${t("request.dropped")}: ${dropped.join(", ")}`] : []),
  ];
  return (
    <ol className="flex flex-col gap-2 p-4">
      {lines.map((line, at) => (
        <li key={`${at} ${line}`} className="flex gap-3">
          <span className="mt-1.5 size-2 shrink-0 rounded-full bg-accent" aria-hidden="true" />
          <span className="min-w-0 break-words">{line}</span>
        </li>
      ))}
    </ol>
  );
}
