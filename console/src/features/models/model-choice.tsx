/** Check boxes for the models that a playground uses at once. */
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";

interface ModelChoiceProps {
  readonly models: readonly ShownModel[];
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Why a model cannot be chosen. */
  readonly unavailable?: (model: ShownModel) => string | undefined;
}

export function ModelChoice({ models, selected, onChange, unavailable }: ModelChoiceProps) {
  const t = useT();
  return (
    <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
      <legend className="mb-1 text-xs font-medium text-muted">{t("nav.models")}</legend>
      {models.map((model) => {
        const { id } = model;
        const reason = unavailable?.(model);
        return (
          <label key={id} className="flex min-w-0 items-center gap-1.5">
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-accent"
              disabled={reason !== undefined}
              checked={selected.includes(id)}
              onChange={({ target }) =>
                onChange(
                  // In the order of the list, so that results keep their places.
                  models
                    .map((each) => each.id)
                    .filter((each) => (each === id ? target.checked : selected.includes(each))),
                )
              }
            />
            <span className="min-w-0 font-mono text-xs wrap-anywhere">{id}</span>
            {reason !== undefined && <span className="text-xs text-muted">({reason})</span>}
          </label>
        );
      })}
    </fieldset>
  );
}
