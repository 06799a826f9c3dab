/** The API keys that may use a model: their `models` match its id. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ModelAccess } from "../../../../contract/admin.ts";
import { call, pathWithQuery } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { KeyLink, ProjectLink } from "../../ui/entity-links.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

const accessQuery = (model: string) =>
  queryOptions({
    queryKey: ["model-access", model],
    queryFn: ({ signal }) =>
      call<ModelAccess>(pathWithQuery("/model-access", { model }), { signal }),
  });

export function ModelKeys({ model }: { model: string }) {
  const t = useT();
  const query = useQuery(accessQuery(model));
  return (
    <QueryView query={query}>
      {({ keys, key_count }) =>
        keys.length === 0 ? (
          <Empty title={t("model.keys.none")} />
        ) : (
          <>
            <Table
              label={t("model.keys")}
              rows={keys}
              rowKey={({ id }) => id}
              searchText={({ name, project }) => `${name} ${project ?? ""}`}
              columns={[
                {
                  key: "name",
                  header: t("keys.name"),
                  sortBy: ({ name }) => name,
                  cell: ({ id, name }) => <KeyLink id={id} name={name} />,
                },
                {
                  key: "project",
                  header: t("keys.project"),
                  sortBy: ({ project }) => project,
                  cell: ({ project }) => (project === null ? "–" : <ProjectLink id={project} />),
                },
              ]}
            />
            {key_count > keys.length && (
              <p className="border-t border-line px-4 py-2 text-xs text-muted">
                {t("model.keys.more", { count: key_count - keys.length })}
              </p>
            )}
          </>
        )
      }
    </QueryView>
  );
}
