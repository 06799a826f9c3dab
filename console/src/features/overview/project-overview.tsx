/** The projects that spend most, with budget and health. An operator of many teams starts here. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ProjectEntity } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { figureColumns, useProjectFigures } from "../projects/project-figures.tsx";
import { projectsQuery } from "../projects/projects-query.ts";

/** With one project, its figures are those of the page. */
const minProjects = 2;
const maxShown = 8;

export function ProjectOverview() {
  const t = useT();
  const { data } = useQuery(projectsQuery);
  const figuresOf = useProjectFigures();
  const projects = data?.data ?? [];
  if (!figuresOf || projects.length < minProjects) return null;
  const columns: readonly Column<ProjectEntity>[] = [
    {
      key: "name",
      header: t("projects.name"),
      sortBy: ({ id }) => id,
      cell: ({ id }) => (
        <span className="font-medium">
          <ProjectLink id={id} />
        </span>
      ),
    },
    ...figureColumns(t, figuresOf),
  ];
  const spendOf = ({ id }: ProjectEntity): number => figuresOf(id).spend ?? 0;
  return (
    <Card
      title={t("nav.projects")}
      actions={
        <Link to="/projects" className="text-sm text-accent hover:underline">
          {t("overview.allProjects", { count: projects.length })}
        </Link>
      }
    >
      <Table
        label={t("nav.projects")}
        rows={projects.toSorted((a, b) => spendOf(b) - spendOf(a)).slice(0, maxShown)}
        rowKey={({ id }) => id}
        columns={columns}
      />
    </Card>
  );
}
