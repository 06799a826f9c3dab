/** The targets of a model: upstream, the model's name there, its weight and its tier. */
import type { TargetValue } from "../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import type { Texts } from "../../lib/text-values.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, NumberInput, Select } from "../../ui/input.tsx";

export interface TargetTexts {
  readonly texts: Texts;
  /** The stored target, whose other members are kept. */
  readonly before: TargetValue | undefined;
}

export const emptyTarget: TargetTexts = { texts: {}, before: undefined };

export function targetValue({ texts, before }: TargetTexts): TargetValue {
  const { weight: _, tier: __, ...others } = before ?? {};
  const { upstream = "", model = "", weight = "", tier = "" } = texts;
  return {
    ...others,
    upstream,
    model: model.trim(),
    ...(weight.trim() !== "" && { weight: Number(weight) }),
    ...(tier.trim() !== "" && { tier: Number(tier) }),
  };
}

interface TargetFieldsProps {
  readonly targets: readonly TargetTexts[];
  /** The ids of all upstreams. */
  readonly upstreams: readonly string[];
  readonly onChange: (targets: readonly TargetTexts[]) => void;
}

export function TargetFields({ targets, upstreams, onChange }: TargetFieldsProps) {
  const t = useT();
  const set = (at: number, name: string, text: string): void =>
    onChange(
      targets.map((target, index) =>
        index === at ? { ...target, texts: { ...target.texts, [name]: text } } : target,
      ),
    );
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("models.targets")}</legend>
      {targets.map(({ texts }, at) => (
        <div key={at} className="grid gap-2 rounded-md border border-line p-2 sm:grid-cols-2">
          <Field label={t("models.form.upstream")} required>
            {(ids) => (
              <Select
                {...ids}
                value={texts.upstream ?? ""}
                onChange={({ target }) => set(at, "upstream", target.value)}
              >
                <option value="" />
                {upstreams.map((id) => (
                  <option key={id}>{id}</option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t("models.form.model")} required>
            {(ids) => (
              <Input
                {...ids}
                value={texts.model ?? ""}
                onChange={({ target }) => set(at, "model", target.value)}
              />
            )}
          </Field>
          <Field label={t("models.form.weight")} hint={t("models.form.weightHint")}>
            {(ids) => (
              <NumberInput
                {...ids}
                value={texts.weight ?? ""}
                onChange={({ target }) => set(at, "weight", target.value)}
              />
            )}
          </Field>
          <Field label={t("models.form.tier")} hint={t("models.form.tierHint")}>
            {(ids) => (
              <NumberInput
                {...ids}
                value={texts.tier ?? ""}
                onChange={({ target }) => set(at, "tier", target.value)}
              />
            )}
          </Field>
          {targets.length > 1 && (
            <div>
              <Button
                size="small"
                onClick={() => onChange(targets.filter((_, index) => index !== at))}
              >
                {t("action.remove")}
              </Button>
            </div>
          )}
        </div>
      ))}
      <div>
        <Button size="small" onClick={() => onChange([...targets, emptyTarget])}>
          {t("models.form.addTarget")}
        </Button>
      </div>
    </fieldset>
  );
}
