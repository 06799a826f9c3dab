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
        const invalid = firstInvalid(event.currentTarget);
        if (invalid) return invalid.focus();
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

/** The first control with a text that is not a value. Each field shows its message. */
function firstInvalid(form: HTMLFormElement): HTMLElement | undefined {
  if (form.checkValidity()) return undefined;
  const controls = [...form.querySelectorAll<HTMLElement>("input:invalid")];
  // A closed group would hide the message.
  for (const control of controls) control.closest("details")?.setAttribute("open", "");
  return controls[0];
}
