/** One upstream: its spend, its targets, its largest models and keys, its errors and its latest events. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { UpstreamEntity } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { TargetTable } from "../models/target-table.tsx";
import { EventCard } from "../spend/event-card.tsx";
import { GroupCards } from "../spend/group-card.tsx";
import { SpendPage } from "../spend/spend-page.tsx";
import { Trend } from "../spend/trend.tsx";
import { upstreamTargets } from "./upstream-targets.ts";

export function UpstreamPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/upstreams/$id" });
  const query = useQuery({
    queryKey: ["/upstreams", "one", id],
    queryFn: ({ signal }) =>
      call<UpstreamEntity>(`/upstreams/${encodeURIComponent(id)}`, { signal }),
  });
  const owner = { target: id };
  const { kind, baseUrl } = query.data?.value ?? {};
  return (
    <SpendPage
      title={id}
      // A space keeps the line until the kind is known.
      description={[kind, baseUrl].filter(Boolean).join(" · ") || "\u00a0"}
      parent={{ to: "/upstreams", title: t("nav.upstreams") }}
    >
      {(time) => (
        <QueryView query={query}>
          {({ problem }) => (
            <>
              {problem !== null && <p className="text-bad">{problem}</p>}
              <Trend owner={owner} time={time} />
              <Targets upstream={id} />
              <GroupCards owner={owner} time={time} dimensions={["model", "key"]} />
              <GroupCards owner={owner} time={time} dimensions={["project", "status"]} />
              <EventCard upstream={id} />
            </>
          )}
        </QueryView>
      )}
    </SpendPage>
  );
}

function Targets({ upstream }: { upstream: string }) {
  const t = useT();
  const query = useQuery({ ...modelsQuery, refetchInterval: 5_000 });
  return (
    <Card title={t("models.targets")}>
      <QueryView query={query}>
        {({ data }) => {
          const targets = [...upstreamTargets(upstream, data).values()];
          return targets.length === 0 ? (
            <Empty title={t("spend.noTargets")} />
          ) : (
            <TargetTable targets={targets} />
          );
        }}
      </QueryView>
    </Card>
  );
}
