/** Finds the budgets and limits of one end user of a project. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { startOf } from "../../lib/range.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { projectsQuery } from "../projects/projects-query.ts";
import { useDimensionValues } from "../usage/use-dimension-values.ts";

/** As the admin API filters by it. Without an end user, all budgets and limits are listed. */
export interface EndUserQuery {
  readonly project?: string;
  readonly end_user?: string;
}

interface EndUserSearchProps {
  readonly value: EndUserQuery;
  readonly onChange: (value: EndUserQuery) => void;
}

export function EndUserSearch({ value, onChange }: EndUserSearchProps) {
  const t = useT();
  const [project, setProject] = useState("");
  const [isNeeded, setNeeded] = useState(false);
  const projects = useQuery(projectsQuery).data?.data ?? [];
  const endUsers = useDimensionValues("end_user", { from: startOf("quarter") }, isNeeded, project);
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div className="w-56 max-w-full">
        <Field label={t("requests.project")}>
          {(ids) => (
            <Combobox
              {...ids}
              value={project}
              options={optionsOf(projects.map(({ id }) => id))}
              onChange={(chosen) => {
                setProject(chosen);
                onChange({});
              }}
            />
          )}
        </Field>
      </div>
      <div className="w-56 max-w-full">
        <Field label={t("requests.endUser")}>
          {(ids) => (
            <Combobox
              {...ids}
              value={value.end_user ?? ""}
              disabled={project === ""}
              allowsOther
              options={endUsers}
              onOpen={() => setNeeded(true)}
              onChange={(end_user) => onChange({ project, end_user })}
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
