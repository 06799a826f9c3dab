/** Finds the budgets and limits of one end user of a project. */
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { startOf } from "../../lib/range.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { useDimensionValues } from "../usage/use-dimension-values.ts";

/** As the admin API filters by it. Without an end user, all budgets and limits are listed. */
export interface EndUserQuery {
  readonly project?: string;
  readonly end_user?: string;
}

interface EndUserSearchProps {
  /** Of the page. End users of different projects are not the same. */
  readonly project: string | undefined;
  readonly value: EndUserQuery;
  readonly onChange: (value: EndUserQuery) => void;
}

export function EndUserSearch({ project, value, onChange }: EndUserSearchProps) {
  const t = useT();
  const [isNeeded, setNeeded] = useState(false);
  const endUsers = useDimensionValues("end_user", { from: startOf("quarter") }, isNeeded, project);
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div className="w-56 max-w-full">
        <Field label={t("requests.endUser")}>
          {(ids) => (
            <Combobox
              {...ids}
              value={value.end_user ?? ""}
              disabled={project === undefined}
              allowsOther
              options={endUsers}
              onOpen={() => setNeeded(true)}
              onChange={(end_user) => project && onChange({ project, end_user })}
            />
          )}
        </Field>
      </div>
      {value.end_user !== undefined && (
        <Button onClick={() => onChange({})}>{t("budgets.showAll")}</Button>
      )}
    </div>
  );
}
