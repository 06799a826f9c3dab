/** The models of a key: ids, and patterns with `*` and `?`. `*` alone is every model. */
import { useQuery } from "@tanstack/react-query";
import { Controller } from "react-hook-form";
import { useT } from "../../i18n/messages.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { MultiCombobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { modelsQuery } from "../models/models-query.ts";

const everyModel = "*";

export function KeyModelsField({ name }: { name: string }) {
  const t = useT();
  const { data: models } = useQuery(modelsQuery);
  const ids = models?.data.map(({ id }) => id) ?? [];
  return (
    <Controller
      name={name}
      render={({ field, fieldState }) => {
        const chosen = (field.value as readonly string[] | undefined) ?? [];
        // A pattern without a model may be a mistake, or for a model that will be added.
        const unmatched = chosen.filter(
          (glob) => models && !ids.some((id) => matchesGlob(glob, id)),
        );
        return (
          <Field
            label={t("keys.models")}
            error={fieldState.error?.message}
            hint={
              unmatched.length === 0 ? (
                t("keys.modelsHint")
              ) : (
                <span className="text-warn">
                  {t("keys.modelsUnknown", { models: unmatched.join(", ") })}
                </span>
              )
            }
          >
            {(labels) => (
              <MultiCombobox
                {...labels}
                name={name}
                allowsOther
                values={chosen}
                options={[
                  { value: everyModel, label: everyModel, hint: t("keys.everyModel") },
                  ...ids.map((id) => ({ value: id, label: id })),
                ]}
                onChange={(next) => field.onChange(withoutContradiction(chosen, next))}
              />
            )}
          </Field>
        );
      }}
    />
  );
}

/** Every model, or the chosen ones: the later choice decides. An empty list is an absent member: every model. */
function withoutContradiction(
  before: readonly string[],
  after: readonly string[],
): readonly string[] | undefined {
  if (after.length === 0) return undefined;
  const isNewlyEvery = after.includes(everyModel) && !before.includes(everyModel);
  if (isNewlyEvery) return [everyModel];
  return after.length > 1 ? after.filter((each) => each !== everyModel) : after;
}
