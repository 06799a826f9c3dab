/** The guided form of an upstream: the fields depend on its kind. */
import { useState } from "react";
import {
  type ConnectionTest,
  type Entity,
  type FormField,
  secretMask,
  type UpstreamKind,
  type UpstreamValue,
} from "../../../contract/admin.ts";
import { ApiError, call, errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Input, Select } from "../../ui/input.tsx";
import { ConnectionTestButton } from "./connection-test.tsx";
import { DiscoveredModels } from "./discovered-models.tsx";

interface UpstreamFormProps {
  readonly kinds: readonly UpstreamKind[];
  readonly upstream: Entity<UpstreamValue> | undefined;
  readonly onSaved: () => unknown;
}

type Values = Readonly<Record<string, string>>;

const idField: FormField = {
  name: "id",
  type: "text",
  required: true,
  secret: false,
  default: null,
  description: "",
  choices: null,
};

export function UpstreamForm({ kinds, upstream, onSaved }: UpstreamFormProps) {
  const t = useT();
  const [kindName, setKindName] = useState(upstream?.value.kind ?? "openai");
  const [values, setValues] = useState<Values>(() => textsOf(upstream?.value ?? {}));
  const [problem, setProblem] = useState<{ field: string | null; message: string }>();
  const [test, setTest] = useState<ConnectionTest>();
  const [chosenModels, setChosenModels] = useState<readonly string[]>([]);
  const kind = kinds.find(({ kind: name }) => name === kindName);
  const fields = [idField, ...(kind?.fields ?? [])];
  const value = (): Record<string, unknown> => ({ kind: kindName, ...typed(fields, values) });

  const save = async (): Promise<void> => {
    try {
      const id = encodeURIComponent(values.id ?? "");
      await call(`/upstreams/${id}`, {
        method: "PUT",
        body: { value: value(), models: chosenModels },
        ...(upstream && { version: upstream.version ?? 0 }),
      });
      await onSaved();
    } catch (error) {
      setProblem({
        field: error instanceof ApiError ? error.param : null,
        message: errorText(error),
      });
    }
  };
  const isKnownField = fields.some(({ name }) => name === problem?.field);
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field label={t("models.kind")} required>
        {(ids) => (
          <Select
            {...ids}
            value={kindName}
            disabled={upstream !== undefined}
            onChange={(event) => setKindName(event.target.value)}
          >
            {kinds.map((each) => (
              <option key={each.kind} value={each.kind}>
                {each.title}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {fields.map((field) => (
        <Field
          key={field.name}
          label={field.name}
          hint={field.description ?? undefined}
          required={field.required}
          error={problem?.field === field.name ? problem.message : undefined}
        >
          {(ids) => (
            <Control
              {...ids}
              field={field}
              value={values[field.name] ?? ""}
              disabled={field.name === "id" && upstream !== undefined}
              onChange={(text) => setValues({ ...values, [field.name]: text })}
            />
          )}
        </Field>
      ))}
      <ConnectionTestButton path="/upstreams/test" body={value} onResult={setTest} />
      {test?.models && (
        <DiscoveredModels
          models={test.models.map(({ id }) => id)}
          chosen={chosenModels}
          onChange={setChosenModels}
        />
      )}
      <FormError message={problem && !isKnownField ? problem.message : undefined} />
      <div className="flex justify-end">
        <Button look="primary" type="submit">
          {t("action.save")}
        </Button>
      </div>
    </form>
  );
}

interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
  readonly field: FormField;
  readonly value: string;
  readonly disabled: boolean;
  readonly onChange: (text: string) => void;
}

function Control({ field, onChange, ...props }: ControlProps) {
  if (field.choices || field.type === "boolean") {
    return (
      <Select {...props} onChange={(event) => onChange(event.target.value)}>
        <option value="" />
        {(field.choices ?? ["true", "false"]).map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </Select>
    );
  }
  return (
    <Input
      {...props}
      type={field.secret ? "password" : field.type === "number" ? "number" : "text"}
      autoComplete="off"
      placeholder={field.secret && props.value === "" ? secretMask : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

const textsOf = (value: Readonly<Record<string, unknown>>): Values =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => ["string", "number", "boolean"].includes(typeof member))
      .map(([name, member]) => [name, String(member)]),
  );

/** Empty inputs are absent; the others get the type of their field. */
const typed = (fields: readonly FormField[], values: Values): Record<string, unknown> =>
  Object.fromEntries(
    fields
      .filter(({ name }) => (values[name] ?? "") !== "")
      .map(({ name, type }) => [name, typedValue(type, values[name] ?? "")]),
  );

function typedValue(type: FormField["type"], text: string): string | number | boolean {
  if (type === "number") return Number(text);
  return type === "boolean" ? text === "true" : text;
}
