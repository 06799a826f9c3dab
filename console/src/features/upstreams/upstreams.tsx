/** The upstreams: where models are served. Upstreams of the configuration file and the environment are locked. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { UpstreamEntity } from "../../../../contract/admin.ts";
import { deleteEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { KindMark } from "../../ui/kind-mark.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loading, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { TargetState } from "../models/target-state.tsx";
import { ConnectionTestPanel } from "./connection-test.tsx";
import { UpstreamForm } from "./upstream-form.tsx";
import { servedModel, upstreamTargets } from "./upstream-targets.ts";
import { kindsQuery, upstreamsQuery } from "./upstreams-query.ts";

export function UpstreamsPage() {
  const t = useT();
  const query = useQuery(upstreamsQuery);
  const { data: kinds } = useQuery(kindsQuery);
  const { data: models } = useQuery(modelsQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<UpstreamEntity | "new">();
  const reload = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: upstreamsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
  };
  const titleOf = (kind: string): string =>
    kinds?.data.find((each) => each.kind === kind)?.title ?? kind;
  const actionsOf = (upstream: UpstreamEntity) => (
    <div className="flex min-w-44 flex-col gap-1">
      <ConnectionTestPanel
        path={`/upstreams/${encodeURIComponent(upstream.id)}/test`}
        paidModel={servedModel(upstream.id, models?.data ?? [])}
      />
      {!upstream.read_only && (
        <span className="flex gap-1">
          <Button size="small" look="quiet" onClick={() => setEdited(upstream)}>
            {t("action.edit")}
          </Button>
          <ConfirmButton
            label={t("action.delete")}
            title={t("upstreams.delete.title", { name: upstream.id })}
            description={t("upstreams.delete.description")}
            onConfirm={async () => {
              await deleteEntity("/upstreams", upstream);
              await reload();
            }}
          />
        </span>
      )}
    </div>
  );
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
                searchText={({ id, value }) => `${id} ${value.kind}`}
                columns={[
                  {
                    key: "id",
                    header: t("upstreams.id"),
                    sortBy: ({ id }) => id,
                    cell: (upstream) => <Name upstream={upstream} title={titleOf} />,
                  },
                  {
                    key: "credential",
                    header: t("upstreams.credential"),
                    cell: ({ value }) => <Credential secret={value.apiKey} />,
                  },
                  {
                    key: "health",
                    header: t("models.targets"),
                    cell: ({ id }) => <Health upstream={id} />,
                  },
                  { key: "actions", header: t("column.actions"), cell: actionsOf },
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
        {!kinds && <Loading />}
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

interface NameProps {
  readonly upstream: UpstreamEntity;
  readonly title: (kind: string) => string;
}

const Name = ({ upstream: { id, origin, problem, value }, title }: NameProps) => (
  <div className="flex flex-col gap-0.5">
    <span className="flex flex-wrap items-center gap-2 font-medium">
      {id} <OriginBadge origin={origin} />
    </span>
    <span className="flex items-center gap-1.5 text-xs text-muted">
      <KindMark kind={value.kind} /> {title(value.kind)}
    </span>
    {value.baseUrl !== undefined && (
      <code className="font-mono text-xs break-all text-muted">{value.baseUrl}</code>
    )}
    {problem !== null && <span className="text-xs text-bad">{problem}</span>}
  </div>
);

function Credential({ secret }: { secret: UpstreamEntity["value"]["apiKey"] }) {
  const t = useT();
  if (secret === undefined || typeof secret === "string") return "–";
  return <Badge>{t("upstreams.secretSet", { ending: secret.lastFour ?? "" })}</Badge>;
}

/** The targets of one upstream, with the reason of a bad state. */
function Health({ upstream }: { upstream: string }) {
  const { data } = useQuery({ ...modelsQuery, refetchInterval: 5_000 });
  const targets = upstreamTargets(upstream, data?.data ?? []);
  if (!data) return <span aria-busy="true">…</span>;
  if (targets.size === 0) return "–";
  return (
    <ul className="flex max-h-40 flex-col gap-1 overflow-y-auto">
      {[...targets].map(([key, target]) => (
        <li key={key} className="flex flex-wrap items-center gap-2">
          <code className="font-mono text-xs break-all">{target.model}</code>
          {target.surface !== null && <span className="text-xs text-muted">{target.surface}</span>}
          <TargetState target={target} />
        </li>
      ))}
    </ul>
  );
}
