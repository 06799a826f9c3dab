/** Sets budgets and limits of the chosen projects, one after the other, and shows the outcome of each. */
import { useState } from "react";
import type { ProjectEntity } from "../../../../contract/admin.ts";
import { errorText } from "../../api/client.ts";
import { saveEntity } from "../../api/entities.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { BudgetFields, LimitFields } from "../../ui/limit-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { useManyProjectsText } from "./many-projects-text.ts";
import { type Outcome, Outcomes, SentChanges } from "./outcomes.tsx";
import { type Amounts, amountsSchema, hasAmount, withAmounts } from "./project-amounts.ts";

interface ManyProjectsProps {
  readonly projects: readonly ProjectEntity[];
  /** `refused`: the ids of the projects that were not changed. Undefined: nothing was sent. */
  readonly onClose: (refused?: readonly string[]) => void;
}

export function ManyProjects({ projects, onClose }: ManyProjectsProps) {
  const t = useManyProjectsText();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const isRunning = outcomes !== undefined && outcomes.length < projects.length;
  const run = async (amounts: Amounts): Promise<void> => {
    const ended: Outcome[] = [];
    setOutcomes([]);
    for (const project of projects) {
      ended.push(await setAmounts(project, amounts));
      setOutcomes([...ended]);
    }
  };
  const refused = outcomes?.filter(({ kind }) => kind === "refused").map(({ name }) => name);
  return (
    <Dialog
      title={t("many.title", { count: projects.length })}
      {...(!outcomes && { description: t("many.description") })}
      isOpen
      // While requests are sent, their outcomes would be lost.
      {...(!isRunning && { onClose: () => onClose(refused) })}
    >
      {outcomes ? (
        <>
          {isRunning ? (
            <SentChanges done={outcomes.length} count={projects.length} />
          ) : (
            <Outcomes outcomes={outcomes} />
          )}
          <div className="mt-3 flex justify-end">
            <Button look="primary" disabled={isRunning} onClick={() => onClose(refused)}>
              {t("many.close")}
            </Button>
          </div>
        </>
      ) : (
        <AmountsForm projects={projects} onSubmit={run} />
      )}
    </Dialog>
  );
}

interface AmountsFormProps {
  readonly projects: readonly ProjectEntity[];
  readonly onSubmit: (amounts: Amounts) => unknown;
}

function AmountsForm({ projects, onSubmit }: AmountsFormProps) {
  const t = useManyProjectsText();
  const form = useSchemaForm(amountsSchema, { limits: {}, budget: {} });
  return (
    <>
      <p className="mb-3 line-clamp-3 text-sm text-muted">
        {projects.map(({ id }) => id).join(", ")}
      </p>
      <Form
        form={form}
        action={t("many.apply")}
        toast={false}
        save={async (amounts) => {
          if (!hasAmount(amounts)) throw new Error(t("many.empty"));
          // Not awaited: the outcomes take the place of the form.
          void onSubmit(amounts);
        }}
      >
        <BudgetFields hasUnknownPrice={false} />
        <LimitFields />
      </Form>
    </>
  );
}

async function setAmounts(project: ProjectEntity, amounts: Amounts): Promise<Outcome> {
  const { id: name } = project;
  const value = withAmounts(project.value, amounts);
  if (!value) return { name, kind: "unchanged" };
  try {
    await saveEntity("/projects", project, value);
    return { name, kind: "changed" };
  } catch (error) {
    return { name, kind: "refused", reason: errorText(error) };
  }
}
