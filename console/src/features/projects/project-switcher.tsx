/** Chooses the project that the page is shown for. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useProjectScope } from "../../api/project-scope.ts";
import { useT } from "../../i18n/messages.ts";
import { Combobox } from "../../ui/combobox.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { projectsQuery } from "./projects-query.ts";

export function ProjectSwitcher() {
  const t = useT();
  const navigate = useNavigate();
  const project = useProjectScope();
  const { data } = useQuery(projectsQuery);
  const projects = data?.data ?? [];
  if (data && projects.length === 0 && project === undefined) return null;
  const all = { value: "", label: t("scope.all") };
  return (
    <div className="mx-auto -mb-2 flex w-full max-w-6xl items-center gap-3 px-4 pt-4 text-sm sm:px-6">
      <div className="w-56 max-w-full">
        <Combobox
          aria-label={t("requests.project")}
          value={project ?? ""}
          placeholder={all.label}
          options={[all, ...optionsOf(projects.map(({ id }) => id))]}
          onChange={(chosen) =>
            navigate({
              to: ".",
              search: (search: object) => ({ ...search, project: chosen || undefined }),
            })
          }
        />
      </div>
      {project !== undefined && (
        <span className="text-muted">
          <ProjectLink id={project} name={t("scope.open")} />
        </span>
      )}
    </div>
  );
}
