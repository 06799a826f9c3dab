/** The upstreams: where models are served. Those of the configuration file and the environment are locked. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Entity, UpstreamKind, UpstreamValue } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { TargetState } from "../models/target-state.tsx";
import { ConnectionTestButton } from "./connection-test.tsx";
import { UpstreamForm } from "./upstream-form.tsx";

type Upstream = Entity<UpstreamValue>;

const upstreamsQuery = listQuery<Upstream>("/upstreams");
const kindsQuery = { ...listQuery<UpstreamKind>("/upstream-kinds"), staleTime: Infinity };

export function UpstreamsPage() {
  const t = useT();
  const query = useQuery(upstreamsQuery);
  const { data: kinds } = useQuery(kindsQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<Upstream | "new">();
  const reload = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: upstreamsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
  };
  const remove = async ({ id, version }: Upstream): Promise<void> => {
    await call(`/upstreams/${encodeURIComponent(id)}`, {
      method: "DELETE",
      version: version ?? 0,
    });
    await reload();
  };
  return (
    <Page
      title={t("nav.upstreams")}
      description={t("upstreams.description")}
      actions={
        <Button look="primary" onClick={() => setEdited("new")}>
          {t("upstreams.create")}
        </Button>
      }
    >
      <Card>
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t("upstreams.none")}>{t("upstreams.none.hint")}</Empty>
            ) : (
              <Table
                label={t("nav.upstreams")}
                rows={data}
                rowKey={({ id }) => id}
                columns={[
                  {
                    key: "id",
                    header: t("upstreams.id"),
                    cell: ({ id, origin }) => (
                      <span className="flex flex-wrap items-center gap-2 font-medium">
                        {id} <OriginBadge origin={origin} />
                      </span>
                    ),
                  },
                  {
                    key: "kind",
                    header: t("models.kind"),
                    cell: ({ value }) => <code className="font-mono text-xs">{value.kind}</code>,
                  },
                  {
                    key: "health",
                    header: t("models.targets"),
                    cell: ({ id }) => <Health upstream={id} />,
                  },
                  {
                    key: "actions",
                    header: t("column.actions"),
                    cell: (upstream) => (
                      <span className="flex flex-wrap gap-1">
                        <ConnectionTestButton
                          path={`/upstreams/${encodeURIComponent(upstream.id)}/test`}
                        />
                        {!upstream.read_only && (
                          <>
                            <Button size="small" look="quiet" onClick={() => setEdited(upstream)}>
                              {t("action.edit")}
                            </Button>
                            <ConfirmButton
                              label={t("action.delete")}
                              title={t("upstreams.delete.title", { name: upstream.id })}
                              description={t("upstreams.delete.description")}
                              onConfirm={() => remove(upstream)}
                            />
                          </>
                        )}
                      </span>
                    ),
                  },
                ]}
              />
            )
          }
        </QueryView>
      </Card>
      <Dialog
        title={edited === "new" ? t("upstreams.create") : t("upstreams.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && kinds && (
          <UpstreamForm
            kinds={kinds.data}
            upstream={edited === "new" ? undefined : edited}
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

/** The targets of one upstream, from the list of models. */
function Health({ upstream }: { upstream: string }) {
  const { data } = useQuery(modelsQuery);
  const targets = new Map(
    data?.data
      .flatMap((model) => model.targets)
      .filter((target) => target.upstream === upstream)
      .map((target) => [target.model, target]),
  );
  return (
    <ul className="flex flex-col gap-1">
      {[...targets.values()].map((target) => (
        <li key={target.model} className="flex flex-wrap items-center gap-2">
          <code className="font-mono text-xs">{target.model}</code>
          <TargetState target={target} />
        </li>
      ))}
    </ul>
  );
}
