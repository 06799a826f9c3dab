/** Creates and changes projects and their members from a CSV file: a dry run of every line first, then its outcome. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectEntity, User } from "../../../../contract/admin.ts";
import { errorText } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { decodeText } from "../../lib/csv.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { FileInput } from "../../ui/file-input.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useManyProjectsText } from "../projects/many-projects-text.ts";
import { type Outcome, Outcomes, SentChanges } from "../projects/outcomes.tsx";
import { archivedProjectsQuery, projectsQuery } from "../projects/projects-query.ts";
import { applyLine } from "./apply-import.ts";
import { plannedOutcome, problemText } from "./line-texts.ts";
import { type PlannedLine, planImport } from "./plan-import.ts";
import { exampleFile, maxBytes, maxLines, readProjectLines } from "./read-project-lines.ts";

interface ProjectImportProps {
  readonly onClose: () => void;
  /** Called after projects were changed. */
  readonly onChanged: () => unknown;
}

export function ProjectImport({ onClose, onChanged }: ProjectImportProps) {
  const text = useManyProjectsText();
  const t = useT();
  const [plan, setPlan] = useState<readonly PlannedLine[]>();
  const [sent, setSent] = useState<readonly Outcome[]>();
  const isRunning = plan !== undefined && sent !== undefined && sent.length < plan.length;
  const apply = async (planned: readonly PlannedLine[]): Promise<void> => {
    const ended: Outcome[] = [];
    setSent([]);
    for (const line of planned) {
      ended.push(await outcomeOf(line, plannedOutcome(line, text, t)));
      setSent([...ended]);
    }
    await onChanged();
  };
  return (
    <Dialog
      title={text("import.title")}
      {...(!plan && { description: text("import.description", { lines: maxLines }) })}
      isOpen
      // While the lines are sent, their outcomes would be lost.
      {...(!isRunning && { onClose })}
    >
      {!plan && <ChooseFile onPlan={setPlan} />}
      {plan && !sent && (
        <DryRun plan={plan} onOther={() => setPlan(undefined)} onApply={() => apply(plan)} />
      )}
      {plan && sent && isRunning && <SentChanges done={sent.length} count={plan.length} />}
      {sent && !isRunning && (
        <>
          <Outcomes outcomes={sent} />
          <div className="mt-3 flex justify-end">
            <Button look="primary" onClick={onClose}>
              {text("many.close")}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

async function outcomeOf(planned: PlannedLine, outcome: Outcome): Promise<Outcome> {
  if (planned.kind === "refused" || planned.kind === "unchanged") return outcome;
  try {
    await applyLine(planned);
    return outcome;
  } catch (error) {
    return { ...outcome, kind: "refused", reason: errorText(error) };
  }
}

function ChooseFile({ onPlan }: { onPlan: (plan: readonly PlannedLine[]) => void }) {
  const text = useManyProjectsText();
  const queryClient = useQueryClient();
  const [error, setError] = useState<string>();
  const read = async (file: File): Promise<void> => {
    setError(undefined);
    try {
      if (file.size > maxBytes) throw new Error(text("import.bad.tooLarge"));
      const content = decodeText(await file.arrayBuffer());
      if (content === undefined) throw new Error(text("import.bad.notText"));
      const lines = readProjectLines(content);
      if ("problem" in lines) throw new Error(problemText(lines.problem, text));
      const present = { staleTime: 0 };
      const [active, archived, users] = await Promise.all([
        queryClient.fetchQuery({ ...projectsQuery, ...present }),
        queryClient.fetchQuery({ ...archivedProjectsQuery, ...present }),
        queryClient.fetchQuery({ ...listQuery<User>("/users"), ...present }),
      ]);
      const projects: readonly ProjectEntity[] = [...active.data, ...archived.data];
      onPlan(planImport(lines, { projects, users: users.data }));
    } catch (reason) {
      setError(errorText(reason));
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <Field label={text("import.file")}>
        {({ id }) => (
          <div className="flex flex-wrap items-center gap-2">
            <FileInput
              id={id}
              accept=".csv,text/csv"
              onFiles={([first]) => first && void read(first)}
            />
            <Button
              size="small"
              look="quiet"
              onClick={() =>
                saveFile("projects.csv", new Blob([exampleFile], { type: "text/csv" }))
              }
            >
              {text("import.example")}
            </Button>
          </div>
        )}
      </Field>
      <FormError message={error} />
    </div>
  );
}

interface DryRunProps {
  readonly plan: readonly PlannedLine[];
  readonly onOther: () => void;
  readonly onApply: () => unknown;
}

function DryRun({ plan, onOther, onApply }: DryRunProps) {
  const text = useManyProjectsText();
  const t = useT();
  const applied = plan.filter(({ kind }) => kind === "created" || kind === "changed").length;
  return (
    <>
      <p className="mb-2 text-sm text-muted">{text("import.plan")}</p>
      <Outcomes outcomes={plan.map((line) => plannedOutcome(line, text, t))} />
      <div className="mt-3 flex flex-wrap justify-end gap-2">
        <Button onClick={onOther}>{text("import.other")}</Button>
        <Button look="primary" disabled={applied === 0} onClick={onApply}>
          {text("import.apply", { count: applied })}
        </Button>
      </div>
    </>
  );
}
