/** A form of react-hook-form. It shows the errors of the server beside the fields that they name. */
import type { ReactNode } from "react";
import {
  type FieldErrors,
  type FieldValues,
  FormProvider,
  type Path,
  type UseFormReturn,
} from "react-hook-form";
import { ApiError, errorText } from "../api/client.ts";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { FormError } from "./form-error.tsx";
import { showToast } from "./toast.ts";
import { useUnsavedChanges } from "./unsaved-changes.ts";

interface FormProps<Values extends FieldValues> {
  readonly form: UseFormReturn<Values>;
  readonly save: (values: Values) => Promise<unknown>;
  /** The text of the button. The default is "Save". */
  readonly action?: string;
  /** False: the result is shown otherwise. If absent, a form in a dialog says that it was saved. */
  readonly toast?: false;
  readonly children: ReactNode;
}

export function Form<Values extends FieldValues>(props: FormProps<Values>) {
  const { form, save, action, toast, children } = props;
  const t = useT();
  const { errors, isSubmitting, isDirty } = form.formState;
  const isInDialog = useUnsavedChanges(isDirty);
  const submit = (element: HTMLFormElement) =>
    form.handleSubmit(
      async (values) => {
        try {
          await save(values);
          if (isInDialog && toast !== false) showToast(t("toast.saved"));
        } catch (error) {
          const name = error instanceof ApiError ? fieldOf(element, error.param ?? "") : undefined;
          if (name !== undefined) openGroup(element, name);
          form.setError((name as Path<Values>) ?? "root", { message: errorText(error) });
        }
      },
      (invalid) => {
        for (const [name, message] of messagesIn(invalid)) {
          const field = fieldOf(element, name);
          if (field === undefined) form.setError("root", { message: `${name}: ${message}` });
          else openGroup(element, field);
        }
      },
    );
  return (
    <FormProvider {...form}>
      <form
        className="flex flex-col gap-3"
        noValidate
        onSubmit={(event) => {
          // A dialog of this form may contain another form: React would bubble the event of the inner form to this one.
          event.stopPropagation();
          const element = event.currentTarget;
          // The browser gives an incomplete date as an empty value.
          const date = element.querySelector<HTMLInputElement>("input[type=date]:invalid");
          if (!date) return submit(element)(event);
          event.preventDefault();
          const message = t(date.validity.rangeUnderflow ? "field.pastDay" : "field.noDay");
          form.setError(date.name as Path<Values>, { message }, { shouldFocus: true });
        }}
      >
        {children}
        <FormError message={errors.root?.message} />
        <div className="flex justify-end">
          <Button look="primary" type="submit" disabled={isSubmitting}>
            {action ?? t("action.save")}
          </Button>
        </div>
      </form>
    </FormProvider>
  );
}

const controlOf = (form: HTMLFormElement, name: string): Element | undefined =>
  [...form.elements].find((element) => element.getAttribute("name") === name);

/** A closed group would hide the message of the field. */
const openGroup = (form: HTMLFormElement, name: string): void =>
  controlOf(form, name)?.closest("details")?.setAttribute("open", "");

/** The field that shows an error of `path`, such as `targets[0].model`. Undefined if there is no field of the form. */
function fieldOf(form: HTMLFormElement, path: string): string | undefined {
  const steps = path.replaceAll(/\[(\d+)\]/g, ".$1").split(".");
  return steps
    .map((_, at) => steps.slice(0, steps.length - at).join("."))
    .find((name) => controlOf(form, name));
}

/** The errors by the paths of their fields. */
const messagesIn = (errors: FieldErrors, path = ""): [path: string, message: string][] =>
  Object.entries(errors).flatMap(([name, error]) => {
    if (typeof error !== "object") return [];
    return typeof error.message === "string"
      ? [[`${path}${name}`, error.message]]
      : messagesIn(error as FieldErrors, `${path}${name}.`);
  });
