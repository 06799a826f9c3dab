/** The models that a playground uses at once. */
import { X } from "lucide-react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useLanguage } from "../../i18n/messages.ts";
import { dateOnly } from "../../lib/time.ts";
import { MultiCombobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { endsSoon, isShutDown } from "./preselected.ts";

interface ModelChoiceProps {
  readonly models: readonly ShownModel[];
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Why a model cannot be chosen. */
  readonly unavailable: (model: ShownModel) => string | undefined;
}

export function ModelChoice({ models, selected, onChange, unavailable }: ModelChoiceProps) {
  const { t, language } = useLanguage();
  return (
    <div className="flex flex-col gap-1.5">
      <Field label={t("nav.models")}>
        {(ids) => (
          <MultiCombobox
            {...ids}
            values={selected}
            onChange={onChange}
            options={models.map((model) => {
              const reason = unavailable(model);
              const ended = isShutDown(model) ? t("playground.modelShutDown") : undefined;
              const end = endsSoon(model);
              const ends = end && t("playground.modelEnds", { date: dateOnly(end, language) });
              const hint =
                reason ??
                ended ??
                ends ??
                (model.reads_images === true ? t("model.can.images") : undefined);
              return {
                value: model.id,
                label: model.id,
                isDisabled: reason !== undefined,
                ...(hint !== undefined && { hint }),
              };
            })}
          />
        )}
      </Field>
      {models.some((model) => selected.includes(model.id) && isShutDown(model)) && (
        <p className="text-xs text-warn">{t("playground.shutDown")}</p>
      )}
      {models.map((model) => {
        const end = selected.includes(model.id) ? endsSoon(model) : undefined;
        return (
          end && (
            <p key={model.id} className="text-xs text-warn">
              {t("playground.ends", { model: model.id, date: dateOnly(end, language) })}
            </p>
          )
        );
      })}
      {selected.length > 1 && (
        <ul className="flex flex-wrap gap-1">
          {selected.map((id) => (
            <li key={id} className="min-w-0">
              <button
                type="button"
                aria-label={t("playground.removeModel", { model: id })}
                onClick={() => onChange(selected.filter((each) => each !== id))}
                className="flex max-w-full items-center gap-1 rounded bg-sunken px-1.5 py-0.5 font-mono text-xs hover:text-bad"
              >
                <span className="min-w-0 truncate">{id}</span>
                <X size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
