/** One sentence per attempt: why its target was selected and how it ended. Then what the gateway changed. */
import type { RequestAttempt, RequestDetail, RequestStep } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { noAttemptReason, selectionReason } from "./selection-reason.ts";

export function RoutingReasons({ request }: { request: RequestDetail }) {
  const t = useT();
  const { timeline, steps, adapted, dropped, batch_size, attempts } = request;
  const notes = [
    ...steps
      .filter((step) => !isListed(step, timeline))
      .map(({ text, i18n }) => serverText(text, i18n)),
    ...(timeline.length > 0 && attempts > timeline.length
      ? [t("request.why.more", { count: attempts - timeline.length })]
      : []),
    ...(batch_size !== null && batch_size > 1 ? [t("request.batch", { count: batch_size })] : []),
    ...(adapted.length > 0 ? [t("request.adapted", { options: adapted.join(", ") })] : []),
    ...(dropped.length > 0 ? [t("request.dropped", { options: dropped.join(", ") })] : []),
  ];
  return (
    <div className="flex flex-col gap-3 p-4">
      {timeline.length === 0 ? (
        <p>{noAttemptReason(request, t)}</p>
      ) : (
        <ol className="flex flex-col gap-3">
          {timeline.map((attempt, at) => (
            <li key={`${at} ${attempt.target}`} className="flex gap-3">
              <span
                aria-hidden="true"
                className="grid size-5 shrink-0 place-items-center rounded-full bg-sunken text-xs tabular-nums"
              >
                {at + 1}
              </span>
              <Attempt attempt={attempt} />
            </li>
          ))}
        </ol>
      )}
      {notes.length > 0 && (
        <ul className="flex flex-col gap-1 border-t border-line pt-3 text-muted">
          {notes.map((note, at) => (
            <li key={`${at} ${note}`} className="break-words">
              {note}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Attempt({ attempt }: { attempt: RequestAttempt }) {
  const t = useT();
  const { target, selection, error, upstream_status, upstream_message: message } = attempt;
  return (
    <div className="flex min-w-0 flex-col gap-1 break-words">
      <p className="font-medium">{target}</p>
      <p>{selectionReason(selection, t)}</p>
      {error !== null && error !== "canceled" && (
        <p className="text-bad">{failureText(attempt, t)}</p>
      )}
      {message !== null && (
        <p className="text-muted">
          {upstream_status === null
            ? t("request.why.noResponse", { message })
            : t("request.why.vendor", { message })}
        </p>
      )}
    </div>
  );
}

/** The error kind, and the status and code of the vendor's response. */
function failureText(attempt: RequestAttempt, t: Translate): string {
  const { error, upstream_status: status, upstream_code: code } = attempt;
  const response = status === null ? "" : `, HTTP ${status}${code === null ? "" : ` ${code}`}`;
  return t("request.why.failed", { error: `${error}${response}` });
}

/** What the sentence of an attempt, or the list of adapted parameters, says already. */
const isListed = ({ i18n }: RequestStep, timeline: RequestDetail["timeline"]): boolean => {
  if (i18n?.id === "step_adapted") return true;
  const isAttempt = ["step_failed", "step_generated", "step_streaming", "step_hedged"].includes(
    i18n?.id ?? "",
  );
  return isAttempt && timeline.some(({ target }) => target === i18n?.values.target);
};
