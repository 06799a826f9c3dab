/** The upstreams: where models are served. Upstreams of the configuration file and the environment are locked. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ModelTarget, UpstreamEntity } from "../../../../contract/admin.ts";
import { deleteEntity } from "../../api/entities.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { Badge } from "../../ui/badge.tsx";
import { ButtonLink } from "../../ui/button-link.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { UpstreamLink } from "../../ui/entity-links.tsx";
import { KindMark } from "../../ui/kind-mark.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { RowMenu } from "../../ui/row-menu.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { isUnused, targetTones } from "../models/target-state.tsx";
import { ConnectionTestPanel } from "./connection-test.tsx";
import { servedModel, upstreamTargets } from "./upstream-targets.ts";
import { kindsQuery, upstreamsQuery } from "./upstreams-query.ts";

export function UpstreamsPage() {
  const t = useT();
  const query = useQuery(upstreamsQuery);
  const { data: kinds } = useQuery(kindsQuery);
  const { data: models, isPending: areModelsLoading } = useQuery(modelsQuery);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const reload = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: upstreamsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
  };
  const titleOf = (kind: string): string =>
    kinds?.data.find((each) => each.kind === kind)?.title ?? kind;
  const [tested, setTested] = useState<UpstreamEntity>();
  const actionsOf = (upstream: UpstreamEntity) => (
    <RowMenu
      name={upstream.id}
      actions={[
        { label: t("upstreams.test"), onSelect: () => setTested(upstream) },
        !upstream.read_only && {
          label: t("action.edit"),
          onSelect: () => navigate({ to: "/upstreams/$id/edit", params: { id: upstream.id } }),
        },
        !upstream.read_only && {
          label: t("action.delete"),
          isDangerous: true,
          confirm: {
            title: t("upstreams.delete.title", { name: upstream.id }),
            description: t("upstreams.delete.description"),
          },
          onSelect: async (isForced) => {
            await deleteEntity("/upstreams", upstream, isForced);
            await reload();
          },
        },
      ]}
    />
  );
  return (
    <Page
      title={t("nav.upstreams")}
      description={t("upstreams.description")}
      actions={
        <ButtonLink to="/upstreams/new" size="normal">
          {t("upstreams.create")}
        </ButtonLink>
      }
    >
      <Card>
        {/* The health of the targets is in the list: it comes with it. */}
        <QueryView query={areModelsLoading ? { ...query, data: undefined, error: null } : query}>
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
        title={t("upstreams.testOf", { name: tested?.id ?? "" })}
        isOpen={tested !== undefined}
        onClose={() => setTested(undefined)}
      >
        {tested && (
          <ConnectionTestPanel
            path={`/upstreams/${encodeURIComponent(tested.id)}/test`}
            paidModel={servedModel(tested.id, models?.data ?? [])}
            runsAtOnce
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
      <UpstreamLink id={id} /> <OriginBadge origin={origin} />
    </span>
    <span className="flex items-center gap-1.5 text-xs text-muted">
      <KindMark kind={value.kind} /> {title(value.kind)}
    </span>
    {value.baseUrl !== undefined && (
      <code className="font-mono text-xs text-muted">
        <LongText text={value.baseUrl} />
      </code>
    )}
    {problem !== null && <span className="text-xs text-bad">{problem}</span>}
  </div>
);

function Credential({ secret }: { secret: UpstreamEntity["value"]["apiKey"] }) {
  const t = useT();
  if (secret === undefined || typeof secret === "string") return "–";
  return <Badge>{t("upstreams.secretSet", { ending: secret.lastFour ?? "" })}</Badge>;
}

/** How many targets of one upstream are in each state. The title has the names, and the reasons of bad states. */
function Health({ upstream }: { upstream: string }) {
  const t = useT();
  const { data } = useQuery({ ...modelsQuery, refetchInterval: 5_000 });
  if (!data) return <span aria-busy="true">…</span>;
  const targets = [...upstreamTargets(upstream, data.data).values()];
  if (targets.length === 0) return "–";
  const states = Map.groupBy(targets, (target) => (isUnused(target) ? "unused" : target.state));
  return (
    <span className="flex flex-wrap gap-1">
      {[...states].map(([state, those]) => (
        <span key={state} title={those.map(targetText).join("\n")}>
          <Badge tone={state === "unused" ? "neutral" : targetTones[state]}>
            {t("upstreams.states", { count: those.length, state: t(`target.${state}`) })}
          </Badge>
        </span>
      ))}
    </span>
  );
}

const targetText = ({ model, surface, reason, i18n }: ModelTarget): string =>
  [model, surface, reason && `(${serverText(reason, i18n)})`].filter(Boolean).join(" ");
