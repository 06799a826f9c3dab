/** Projects: groups of API keys with shared limits and budgets, and the users that see only their own projects. */

import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { EndUserOrTagLimitsValue, ProjectEntity } from "../../../../contract/admin.ts";
import { lazyComponent } from "../../api/chunks.ts";
import { deleteEntity, saveEntity } from "../../api/entities.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { LongText } from "../../ui/long-text.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { type RowAction, RowMenu } from "../../ui/row-menu.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { useManyProjectsText } from "./many-projects-text.ts";
import { type Choice, ChooseProject, ProjectChoice } from "./project-choice.tsx";
import { figureColumns, useProjectFigures } from "./project-figures.tsx";
import { ProjectForm } from "./project-form.tsx";
import { archivedProjectsQuery, projectsQuery } from "./projects-query.ts";

const ProjectImport = lazyComponent(
  async () => (await import("../project-import/project-import.tsx")).ProjectImport,
);

export function ProjectsPage() {
  const t = useT();
  const manyText = useManyProjectsText();
  const [isArchive, setArchive] = useState(false);
  const query = useQuery(isArchive ? archivedProjectsQuery : projectsQuery);
  const queryClient = useQueryClient();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isAdmin = canSomewhere(session?.user, "administer");
  const [edited, setEdited] = useState<ProjectEntity | "new">();
  const [isImporting, setImporting] = useState(false);
  const [choice, setChoice] = useState<Choice>(new Set());
  const mayChoose = isAdmin && !isArchive;
  const figuresOf = useProjectFigures();
  const reload = () => queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
  const archiveAction = (project: ProjectEntity): RowAction => {
    const { archived, ...value } = project.value;
    const save = async (): Promise<void> => {
      await saveEntity("/projects", project, archived ? value : { ...value, archived: true });
      await reload();
    };
    if (archived) return { label: t("projects.restore"), onSelect: save };
    return {
      label: t("projects.archive"),
      confirm: {
        title: t("projects.archive.title", { name: project.id }),
        description: t("projects.archive.description"),
      },
      onSelect: save,
    };
  };
  const columns: readonly Column<ProjectEntity>[] = [
    {
      key: "name",
      header: t("projects.name"),
      sortBy: ({ id }) => id,
      cell: ({ id, origin, problem }) => (
        <span className="flex flex-wrap items-center gap-2 font-medium">
          {mayChoose && <ChooseProject id={id} choice={choice} onChoose={setChoice} />}
          <ProjectLink id={id} /> <OriginBadge origin={origin} />
          {problem !== null && <span className="text-xs text-bad">{problem}</span>}
        </span>
      ),
    },
    ...(figuresOf ? figureColumns(t, figuresOf) : []),
    { key: "limits", header: t("model.limits"), cell: (project) => <Limits project={project} /> },
    {
      key: "keys",
      header: t("projects.keys"),
      sortBy: ({ keys }) => keys,
      align: "right",
      cell: ({ keys }) => keys,
    },
  ];
  const adminColumns: readonly Column<ProjectEntity>[] = [
    {
      key: "members",
      header: t("projects.members"),
      priority: 2,
      cell: ({ members }) => <LongText text={members.map(({ name }) => name).join(", ") || "–"} />,
    },
    {
      key: "actions",
      header: t("column.actions"),
      cell: (project) => (
        <RowMenu
          name={project.id}
          actions={[
            { label: t("action.edit"), onSelect: () => setEdited(project) },
            !project.read_only && archiveAction(project),
            !project.read_only && {
              label: t("action.delete"),
              isDangerous: true,
              confirm: {
                title: t("projects.delete.title", { name: project.id }),
                description: t("projects.delete.description"),
              },
              onSelect: async (isForced) => {
                await deleteEntity("/projects", project, isForced);
                await reload();
              },
            },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title={t("nav.projects")}
      description={t("projects.description")}
      actions={
        <>
          <Button aria-pressed={isArchive} onClick={() => setArchive(!isArchive)}>
            {t("projects.showArchived")}
          </Button>
          {isAdmin && (
            <>
              <Button onClick={() => setImporting(true)}>{manyText("import.open")}</Button>
              <Button look="primary" onClick={() => setEdited("new")}>
                {t("projects.create")}
              </Button>
            </>
          )}
        </>
      }
    >
      <Card>
        <QueryView query={figuresOf ? query : { ...query, data: undefined, error: null }}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t(isArchive ? "projects.archived.none" : "projects.none")}>
                {!isArchive && t("projects.none.hint")}
              </Empty>
            ) : (
              <>
                {mayChoose && (
                  <ProjectChoice
                    projects={data}
                    choice={choice}
                    onChoose={setChoice}
                    onChanged={reload}
                  />
                )}
                <Table
                  label={t("nav.projects")}
                  rows={data}
                  rowKey={({ id }) => id}
                  searchText={({ id }) => id}
                  columns={isAdmin ? [...columns, ...adminColumns] : columns}
                />
              </>
            )
          }
        </QueryView>
      </Card>
      {isImporting && (
        <Suspense>
          <ProjectImport onClose={() => setImporting(false)} onChanged={reload} />
        </Suspense>
      )}
      <Dialog
        title={edited === "new" ? t("projects.create") : t("projects.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && (
          <ProjectForm
            project={edited === "new" ? undefined : edited}
            onSaved={async () => {
              setEdited(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
    </Page>
  );
}

/** Limits and budgets in words: of the project, of each of its end users, and of its tags. */
function Limits({ project: { value } }: { project: ProjectEntity }) {
  const t = useT();
  const { perEndUser, perTag = {} } = value;
  const named: [string, EndUserOrTagLimitsValue][] = [
    ...(perEndUser
      ? [[t("endUserAndTagLimits.endUser"), perEndUser] as [string, EndUserOrTagLimitsValue]]
      : []),
    ...Object.entries(perTag),
  ];
  const lines = [
    ...limitTexts(value, t),
    ...named.map(([name, own]) => `${name} – ${limitTexts(own, t).join(", ")}`),
  ];
  if (lines.length === 0) return "–";
  return (
    <span
      title={lines.join("\n")}
      className="line-clamp-2 max-w-40 text-xs max-sm:line-clamp-none max-sm:max-w-full"
    >
      {lines.join(", ")}
    </span>
  );
}
