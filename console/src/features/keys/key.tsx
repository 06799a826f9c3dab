/** One API key: its spend and budget, its models, its errors and its latest events. Also after it was revoked. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ApiKey } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { ProjectLink, UserLink } from "../../ui/entity-links.tsx";
import { type FactRow, FactsCard } from "../../ui/facts.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { Time } from "../../ui/time.tsx";
import { BudgetCard } from "../spend/budget-card.tsx";
import { EventCard } from "../spend/event-card.tsx";
import { GroupCards } from "../spend/group-card.tsx";
import { SpendPage } from "../spend/spend-page.tsx";
import { Trend } from "../spend/trend.tsx";
import { usageQuery } from "../usage/usage-query.ts";
import { keyTones } from "./key-columns.tsx";

export function KeyPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/keys/$id" });
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { data: key, error } = useQuery({
    queryKey: ["/keys", "one", id],
    queryFn: ({ signal }) => call<ApiKey>(`/keys/${encodeURIComponent(id)}`, { signal }),
    enabled: canSomewhere(session?.user, "develop"),
  });
  // The usage has the names of revoked keys, which cannot be read any more.
  const { data: usage } = useQuery({
    ...usageQuery({ key: id, interval: "total", group_by: "key" }, false),
    enabled: key === undefined,
  });
  const name = key?.name ?? usage?.data[0]?.key_name ?? id;
  return (
    <SpendPage title={name} parent={{ to: "/keys", title: t("nav.keys") }}>
      {(time) => (
        <>
          {error && <p className="text-muted">{t("spend.inactiveKey")}</p>}
          {key && <BudgetCard query={{ key: id }} scope="key" />}
          <Trend owner={{ key: id }} time={time} />
          {key && <FactsCard rows={factsOf(key, t)} />}
          <GroupCards owner={{ key: id }} time={time} dimensions={["model", "status"]} />
          {session?.user.projects === null && <EventCard key_id={id} />}
        </>
      )}
    </SpendPage>
  );
}

function factsOf(key: ApiKey, t: Translate): readonly FactRow[] {
  const { state, project, created_by, created_by_id, models, created_at, expires_at } = key;
  const limits = limitTexts({ ...key, budget: null }, t).join(", ");
  const creator = created_by_id ? <UserLink id={created_by_id} name={created_by} /> : created_by;
  return [
    [t("keys.state"), <Badge tone={keyTones[state]}>{t(`keys.state.${state}`)}</Badge>],
    [t("keys.project"), project && <ProjectLink id={project} />],
    [t("keys.owner"), creator],
    [t("spend.created"), created_at && <Time iso={created_at} />],
    [t("keys.until"), expires_at && <Time iso={expires_at} />],
    [t("keys.models"), <code className="font-mono text-xs">{models.join(", ")}</code>],
    [t("model.limits"), limits || null],
  ];
}
