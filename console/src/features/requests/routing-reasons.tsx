/** Why the request went to this target and not to another, and what the gateway changed on the way. */
import type { RequestDetail } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { selectionReason } from "./selection-reason.ts";

export function RoutingReasons({ request }: { request: RequestDetail }) {
  const t = useT();
  const { steps, adapted, dropped, batch_size } = request;
  const lines = [
    selectionReason(request, t),
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
