/** The options that the chosen models have: the usual ones in view, the others folded. */
import { useId } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { More } from "../../ui/more.tsx";
import { Select } from "../../ui/select.tsx";
import { optionsOf } from "./image-request.ts";

interface ModelOptionsProps {
  readonly models: readonly ShownModel[];
  readonly isEdit: boolean;
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
}

interface SharedOption {
  readonly name: string;
  /** Values of all models together. `true`: any value. */
  readonly values: readonly string[] | true;
}

/** The page shows images itself, and requests a stream if it shows partial images. */
const ownOptions: ReadonlySet<string> = new Set(["stream", "response_format"]);

/** The options of the images API. The options that most people use are first. */
const knownOptions: readonly string[] = [
  "size",
  "quality",
  "n",
  "output_format",
  "background",
  "style",
  "partial_images",
  "output_compression",
  "moderation",
  "input_fidelity",
  "complexity",
  "frame_count",
];
/** The number of options that are always in view. */
const mainOptions = 4;

const rankOf = (name: string): number => {
  const at = knownOptions.indexOf(name);
  return at < 0 ? knownOptions.length : at;
};

function sharedOptions(models: readonly ShownModel[], isEdit: boolean): SharedOption[] {
  const all = models.map((model) => optionsOf(model, isEdit) ?? {});
  const names = new Set(all.flatMap((options) => Object.keys(options)));
  return [...names]
    .filter((name) => !ownOptions.has(name))
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map((name) => {
      const values = all.flatMap((options) => {
        const own = options[name];
        return own === undefined || own === true ? [] : own;
      });
      const isOpen = all.some((options) => options[name] === true);
      return { name, values: isOpen ? true : [...new Set(values)] };
    });
}

export function ModelOptions({ models, isEdit, values, onChange }: ModelOptionsProps) {
  const t = useT();
  const options = sharedOptions(models, isEdit);
  const field = (option: SharedOption) => (
    <Field
      key={option.name}
      label={option.name}
      hint={option.name === "partial_images" ? t("images.partialHint") : undefined}
    >
      {(ids) => (
        <OptionInput
          {...ids}
          option={option}
          value={values[option.name] ?? ""}
          onChange={(value) => onChange({ ...values, [option.name]: value })}
        />
      )}
    </Field>
  );
  const folded = options.slice(mainOptions);
  const isSet = ({ name }: SharedOption): boolean => (values[name] ?? "") !== "";
  return (
    <>
      <div className="grid grid-cols-2 gap-3">{options.slice(0, mainOptions).map(field)}</div>
      <Differences models={models} isEdit={isEdit} options={options} />
      {folded.length > 0 && (
        <More label={t("images.advanced")} mark={folded.filter(isSet).length}>
          <div className="grid grid-cols-2 gap-3">{folded.map(field)}</div>
        </More>
      )}
    </>
  );
}

interface DifferencesProps {
  readonly models: readonly ShownModel[];
  readonly isEdit: boolean;
  readonly options: readonly SharedOption[];
}

/** One line for each model: the options that it does not have, which are not sent to it. */
function Differences({ models, isEdit, options }: DifferencesProps) {
  const t = useT();
  const names = [...new Set([...options.map(({ name }) => name), ...knownOptions])];
  return models.map((model) => {
    const own = optionsOf(model, isEdit) ?? {};
    const missing = names.filter((name) => !(name in own)).join(", ");
    return (
      missing !== "" && (
        <p key={model.id} title={missing} className="-mt-2 truncate text-xs text-muted">
          {t("images.without", { model: model.id, options: missing })}
        </p>
      )
    );
  });
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
