/** The options that the chosen models have. An option that only some of them have says which lack it. */
import { useId } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { optionsOf } from "./image-request.ts";

interface ModelOptionsProps {
  readonly models: readonly ShownModel[];
  readonly isEdit: boolean;
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
}

export interface SharedOption {
  readonly name: string;
  /** Values of all models together. `true`: any value. */
  readonly values: readonly string[] | true;
  /** The models without this option. */
  readonly missingIn: readonly string[];
}

/** The page shows images itself, and requests a stream if it shows partial images. */
const ownOptions: ReadonlySet<string> = new Set(["stream", "response_format"]);

/** The options of the images API, to list the options that no chosen model has. */
const knownOptions: readonly string[] = [
  "n",
  "size",
  "quality",
  "background",
  "style",
  "moderation",
  "output_format",
  "output_compression",
  "partial_images",
  "input_fidelity",
  "complexity",
  "frame_count",
];

/** In the order of the first model. */
export function sharedOptions(models: readonly ShownModel[], isEdit: boolean): SharedOption[] {
  const all = models.map((model) => ({ id: model.id, options: optionsOf(model, isEdit) ?? {} }));
  const names = new Set(all.flatMap(({ options }) => Object.keys(options)));
  return [...names]
    .filter((name) => !ownOptions.has(name))
    .map((name) => {
      const values = all.flatMap(({ options }) => {
        const own = options[name];
        return own === undefined || own === true ? [] : own;
      });
      const isOpen = all.some(({ options }) => options[name] === true);
      return {
        name,
        values: isOpen ? true : [...new Set(values)],
        missingIn: all.filter(({ options }) => options[name] === undefined).map(({ id }) => id),
      };
    });
}

export function ModelOptions({ models, isEdit, values, onChange }: ModelOptionsProps) {
  const t = useT();
  const options = sharedOptions(models, isEdit);
  const lacking = knownOptions.filter((name) => !options.some((option) => option.name === name));
  const hintFor = ({ name, missingIn }: SharedOption): string | undefined => {
    if (missingIn.length > 0) return t("images.optionMissing", { models: missingIn.join(", ") });
    return name === "partial_images" ? t("images.partialHint") : undefined;
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        {options.map((option) => (
          <Field key={option.name} label={option.name} hint={hintFor(option)}>
            {(ids) => (
              <OptionInput
                {...ids}
                option={option}
                value={values[option.name] ?? ""}
                onChange={(value) => onChange({ ...values, [option.name]: value })}
              />
            )}
          </Field>
        ))}
      </div>
      {models.length > 0 && lacking.length > 0 && (
        <p className="text-xs text-muted">
          {t(isEdit ? "images.lacking.edits" : "images.lacking.generations", {
            options: lacking.join(", "),
          })}
        </p>
      )}
    </div>
  );
}

interface OptionInputProps {
  readonly id: string;
  readonly option: SharedOption;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Suggestions for models without a fixed list. */
const commonValues: Readonly<Record<string, readonly string[]>> = {
  size: ["1024x1024", "1536x1024", "1024x1536", "2048x2048", "512x512", "16:9", "9:16"],
  quality: ["auto", "low", "medium", "high"],
  background: ["auto", "transparent", "opaque"],
  moderation: ["auto", "low"],
  output_format: ["png", "jpeg", "webp", "gif", "svg"],
  style: ["vivid", "natural"],
  complexity: ["low", "medium", "high"],
  input_fidelity: ["low", "high"],
};
const numberRanges: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
  output_compression: { min: 0, max: 100 },
  frame_count: { min: 2, max: 16 },
  frame_duration_ms: { min: 0, max: 655_350 },
};

function OptionInput({ option, value, onChange, ...ids }: OptionInputProps) {
  const t = useT();
  const listId = useId();
  if (option.values === true) {
    const range = numberRanges[option.name];
    const suggestions = commonValues[option.name];
    return (
      <>
        <Input
          {...ids}
          {...(range ? { type: "number", ...range } : {})}
          {...(suggestions && { list: listId })}
          placeholder={t("images.default")}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
        {suggestions && (
          <datalist id={listId}>
            {suggestions.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        )}
      </>
    );
  }
  return (
    <Select
      {...ids}
      value={value}
      onChange={onChange}
      options={[
        { value: "", label: t("images.default") },
        ...option.values.map((each) => ({ value: each, label: each })),
      ]}
    />
  );
}
