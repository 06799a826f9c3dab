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
import { classNames } from "../lib/class-names.ts";
import { Button } from "./button.tsx";
import { FormError } from "./form-error.tsx";
import { useFormFrame } from "./form-frame.ts";
import { showToast } from "./toast.ts";

interface FormProps<Values extends FieldValues> {
  readonly form: UseFormReturn<Values>;
  readonly save: (values: Values) => Promise<unknown>;
  /** The text of the button. The default is "Save". */
  readonly action?: string;
  /** False: the result is shown otherwise. If absent, a form in a dialog or on a page of its own says that it was saved. */
  readonly toast?: false;
  /** An error of the server in words of the form, where its text names members of the API. */
  readonly explain?: (error: ApiError) => string | undefined;
  /** The names of required fields without a value that the schema does not know. */
  readonly missing?: (values: Values) => readonly string[];
  readonly children: ReactNode;
}

export function Form<Values extends FieldValues>(props: FormProps<Values>) {
  const { form, save, action, toast, explain, missing, children } = props;
  const t = useT();
  const { errors, isSubmitting, isDirty } = form.formState;
  const frame = useFormFrame(isDirty);
  const submit = (element: HTMLFormElement) =>
    form.handleSubmit(
      async (values) => {
        const empty = missing?.(values) ?? [];
        for (const name of empty)
          form.setError(name as Path<Values>, { message: t("field.missing") });
        if (empty.length > 0) return;
        try {
          await save(values);
          if (frame && toast !== false) showToast(t("toast.saved"));
        } catch (error) {
          const name = error instanceof ApiError ? fieldOf(element, error.param ?? "") : undefined;
          if (name !== undefined) openGroup(element, name);
          const own = error instanceof ApiError ? explain?.(error) : undefined;
          form.setError((name as Path<Values>) ?? "root", { message: own ?? errorText(error) });
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
        <div
          className={classNames(
            "flex justify-end gap-2",
            // In view also while the fields scroll.
            frame &&
              "sticky bottom-0 z-10 -mx-5 rounded-b-lg border-t border-line bg-surface px-5 py-3 in-[form:last-child]:-mb-5 in-[[role=dialog]]:-bottom-5",
          )}
        >
          {frame?.cancel && <Button onClick={frame.cancel}>{t("action.cancel")}</Button>}
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
