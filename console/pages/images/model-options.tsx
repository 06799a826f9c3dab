/** The options that the chosen models have. An option that only some of them have says which lack it. */
import type { ShownModel } from "../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { Input, Select } from "../../ui/input.tsx";

interface ModelOptionsProps {
  readonly models: readonly ShownModel[];
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

/** In the order of the first model. */
export function sharedOptions(models: readonly ShownModel[]): SharedOption[] {
  const names = new Set(models.flatMap(({ options }) => Object.keys(options)));
  return [...names].map((name) => {
    const values = models.flatMap(({ options }) => {
      const own = options[name];
      return own === undefined || own === true ? [] : own;
    });
    const isOpen = models.some(({ options }) => options[name] === true);
    return {
      name,
      values: isOpen ? true : [...new Set(values)],
      missingIn: models.filter(({ options }) => options[name] === undefined).map(({ id }) => id),
    };
  });
}

export function ModelOptions({ models, values, onChange }: ModelOptionsProps) {
  const t = useT();
  return (
    <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
      {sharedOptions(models).map((option) => {
        const value = values[option.name] ?? "";
        const set = (changed: string): void => onChange({ ...values, [option.name]: changed });
        const hint =
          option.missingIn.length === 0
            ? undefined
            : t("images.optionMissing", { models: option.missingIn.join(", ") });
        return (
          <Field key={option.name} label={option.name} hint={hint}>
            {(ids) =>
              option.values === true ? (
                <Input {...ids} value={value} onChange={(event) => set(event.target.value)} />
              ) : (
                <Select {...ids} value={value} onChange={(event) => set(event.target.value)}>
                  <option value="">{t("images.default")}</option>
                  {option.values.map((each) => (
                    <option key={each} value={each}>
                      {each}
                    </option>
                  ))}
                </Select>
              )
            }
          </Field>
        );
      })}
    </div>
  );
}
