/** Chooses the project that the page is shown for. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useProjectScope } from "../../api/project-scope.ts";
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { controlStyle } from "../../ui/input.tsx";
import { projectsQuery } from "./projects-query.ts";

export function ProjectSwitcher() {
  const t = useT();
  const navigate = useNavigate();
  const project = useProjectScope();
  const { data } = useQuery(projectsQuery);
  const projects = data?.data ?? [];
  if (data && projects.length === 0 && project === undefined) return null;
  return (
    <div className="mx-auto -mb-2 flex w-full max-w-6xl items-center gap-3 px-4 pt-4 text-sm sm:px-6">
      {/* The browser's own control: ours would be a tenth of what the first page loads. */}
      <select
        aria-label={t("requests.project")}
        className={classNames(controlStyle, "h-9 max-w-56")}
        value={project ?? ""}
        onChange={({ target: { value: chosen } }) =>
          navigate({
            to: ".",
            search: (search: object) => ({ ...search, project: chosen || undefined }),
          })
        }
      >
        <option value="">{t("scope.all")}</option>
        {project !== undefined && !projects.some(({ id }) => id === project) && (
          <option value={project}>{project}</option>
        )}
        {projects.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
      {project !== undefined && <ProjectLink id={project} name={t("scope.open")} />}
    </div>
  );
}
