/** Forms whose values are validated by the schema with which the server validates the same body. */
import { zodResolver } from "@hookform/resolvers/zod";
import { type DefaultValues, type FieldValues, type UseFormReturn, useForm } from "react-hook-form";
import { z } from "zod";
import { type Translate, useT } from "../i18n/messages.ts";

// Compiled schemas need `eval`, which the content security policy refuses.
z.config({ jitless: true });

export function useSchemaForm<Values extends FieldValues>(
  schema: z.ZodType<unknown, Values>,
  defaultValues: DefaultValues<NoInfer<Values>>,
): UseFormReturn<Values> {
  const t = useT();
  // `raw`: the values as they are sent, without the defaults of the schema.
  const validate = zodResolver(schema, { error: (issue) => issueText(issue, t) }, { raw: true });
  return useForm<Values>({
    defaultValues,
    resolver: (values, context, options) =>
      validate(withoutEmpty(values) as Values, context, options),
  });
}

/** The default is the message of the schema. */
function issueText(issue: z.core.$ZodRawIssue, t: Translate): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return t("field.missing");
      return issue.expected === "int" ? t("field.noWholeNumber") : t("field.noNumber");
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return t("field.missing");
      return t("field.tooSmall", { minimum: String(issue.minimum) });
    case "too_big":
      return t(issue.origin === "string" ? "field.tooLong" : "field.tooLarge", {
        maximum: String(issue.maximum),
      });
    default:
      return undefined;
  }
}

/** Leaves out absent members, and objects of absent members. */
const withoutEmpty = (values: object): object =>
  Object.fromEntries(
    Object.entries(values).filter(
      ([, value]: [string, unknown]) =>
        value !== undefined &&
        (!isObject(value) || Object.values(value).some((member) => member !== undefined)),
    ),
  );

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
