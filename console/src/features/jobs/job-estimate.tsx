/** What the file of a job has and costs, before the job starts, and where its lines run. */
import type { JobEstimate } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Field } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";

/** Of a file with many. */
const maxErrors = 5;

interface JobEstimateViewProps {
  readonly estimate: JobEstimate;
  readonly execution: JobEstimate["execution"];
  readonly onChoose: (execution: JobEstimate["execution"]) => void;
}

export function JobEstimateView({ estimate, execution, onChoose }: JobEstimateViewProps) {
  const t = useT();
  const { lines, valid_lines: valid, input_errors: errors, estimated_cost: cost } = estimate;
  if (errors.length > 0)
    return (
      <div role="alert" className="text-sm text-bad">
        <p>{t("jobs.inputErrors")}</p>
        <ul className="list-disc pl-5">
          {errors.slice(0, maxErrors).map(({ line, code, message }) => (
            <li key={`${line} ${code}`} className="break-words">
              {line !== null && `${line}: `}
              {message}
            </li>
          ))}
        </ul>
      </div>
    );
  const price = (name: "now" | "vendor") =>
    `${t(`jobs.execution.${name}`)}: ${cost?.[name] == null ? t("jobs.estimate.unknown") : dollars(cost[name])}`;
  return (
    <section aria-label={t("jobs.estimate")} className="rounded-md border border-line p-3">
      <p role="status" className="font-medium">
        {t("jobs.lines", { count: lines })}
      </p>
      {valid < lines && (
        <p className="text-sm text-bad">{t("jobs.failedLines", { count: lines - valid })}</p>
      )}
      <p className="mt-1 text-sm tabular-nums">{t("jobs.estimate")}</p>
      <ul className="mb-2 text-sm tabular-nums">
        <li>{price("now")}</li>
        {estimate.vendor_problem === null && <li>{price("vendor")}</li>}
      </ul>
      {estimate.vendor_problem === null ? (
        <Field label={t("jobs.execution")} hint={t("models.form.batchesHint")}>
          {(ids) => (
            <Select
              {...ids}
              value={execution}
              onChange={onChoose}
              options={[
                { value: "now" as const, label: t("jobs.execution.now") },
                { value: "vendor" as const, label: t("jobs.execution.vendor") },
                { value: "cheapest" as const, label: t("models.form.batches.cheapest") },
              ]}
            />
          )}
        </Field>
      ) : (
        <p className="text-xs text-muted">
          {t("jobs.execution.now")} ({estimate.vendor_problem})
        </p>
      )}
    </section>
  );
}
