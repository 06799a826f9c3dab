/** The frame of a form that changes an entity: its fields, the problem of no field, and the button that saves it. */
import type { ReactNode } from "react";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { FormError } from "./form-error.tsx";
import type { FormProblem } from "./use-form-problem.ts";

export function EntityForm({
  problem,
  message = problem.other,
  save,
  action,
  children,
}: {
  readonly problem: FormProblem;
  /** Shown at the end of the form. */
  readonly message?: string | undefined;
  readonly save: () => Promise<unknown>;
  /** The text of the button. Absent: "Save". */
  readonly action?: string;
  readonly children: ReactNode;
}) {
  const t = useT();
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void problem.run(save);
      }}
    >
      {children}
      <FormError message={message} />
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={problem.isSaving}>
          {action ?? t("action.save")}
        </Button>
      </div>
    </form>
  );
}
