/** The options that the chosen models have: the usual ones in view, the others folded. */
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { More } from "../../ui/more.tsx";
import { Select } from "../../ui/select.tsx";
import { optionsOf } from "./image-request.ts";
import { optionLabel, valueLabel } from "./option-labels.ts";

interface ModelOptionsProps {
  readonly models: readonly ShownModel[];
  readonly isEdit: boolean;
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
}

interface SharedOption {
  readonly name: string;
  /** The values of all models together. */
  readonly values: readonly string[];
  /** A model takes other values as well. */
  readonly isOpen: boolean;
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
const mainOptions = 5;

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
      return { name, values: [...new Set(values)], isOpen };
    });
}

export function ModelOptions({ models, isEdit, values, onChange }: ModelOptionsProps) {
  const t = useT();
  const options = sharedOptions(models, isEdit);
  const field = (option: SharedOption) => (
    // A size with its shape is a long text.
    <div key={option.name} className={option.name === "size" ? "col-span-2" : undefined}>
      <Field
        label={optionLabel(option.name, t)}
        apiName={option.name}
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
    </div>
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
    const missing = names
      .filter((name) => !(name in own))
      .map((name) => optionLabel(name, t))
      .join(", ");
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

/** A list as far as values are known, in which another value can be typed if a model takes any. */
function OptionInput({
  option: { name, values, isOpen },
  value,
  onChange,
  ...ids
}: OptionInputProps) {
  const t = useT();
  const range = numberRanges[name];
  if (isOpen && range)
    return (
      <Input
        {...ids}
        type="number"
        {...range}
        placeholder={t("images.default")}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  const known = [...new Set([...values, ...((isOpen && commonValues[name]) || [])])];
  const options = ["", ...known].map((each) => ({ value: each, label: valueLabel(each, t) }));
  if (!isOpen) return <Select {...ids} value={value} onChange={onChange} options={options} />;
  return <Combobox {...ids} value={value} onChange={onChange} options={options} allowsOther />;
}
