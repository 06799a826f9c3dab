/** When alerts fired and were resolved, each with its deliveries: a message that no receiver got is seen here. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ShownEvent } from "../../../../contract/admin.ts";
import type { EventData } from "../../../../contract/events.ts";
import { listQuery } from "../../api/lists.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { Deliveries } from "../events/deliveries.tsx";
import { useAlertText } from "./alert-text.ts";
import { valueText } from "./rule-text.ts";

const historyQuery = listQuery<ShownEvent>("/events", { type: "alert.*", limit: 50 });

export function AlertHistory() {
  const { t, general } = useAlertText();
  const query = useQuery(historyQuery);
  return (
    <Card
      title={t("alerts.history")}
      actions={
        <Link to="/events" className="text-sm text-accent hover:underline">
          {general("nav.events")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("alerts.history.none")} />
          ) : (
            <Table
              label={t("alerts.history")}
              rows={data.map((event) => ({
                ...event,
                alert: event.data as unknown as EventData["alert.firing"],
              }))}
              rowKey={({ id }) => id}
              columns={[
                {
                  key: "time",
                  header: general("column.time"),
                  cell: ({ timestamp }) => <Time iso={timestamp} />,
                },
                { key: "name", header: t("alerts.name"), cell: ({ alert }) => alert.name },
                {
                  key: "state",
                  header: t("alerts.state"),
                  cell: ({ type, alert }) => (
                    <span className="flex flex-wrap gap-1">
                      {type === "alert.firing" ? (
                        <Badge tone="bad">{t("alerts.state.firing")}</Badge>
                      ) : (
                        <Badge tone="good">{t("alerts.state.resolved")}</Badge>
                      )}
                      {alert.silenced_until !== undefined && (
                        <Badge tone="warn">{t("alerts.silenced")}</Badge>
                      )}
                    </span>
                  ),
                },
                {
                  key: "value",
                  header: t("alerts.value"),
                  cell: ({ alert: { metric, value, above } }) =>
                    `${value === null ? "–" : valueText(metric, value)} / ${valueText(metric, above)}`,
                },
                {
                  key: "deliveries",
                  header: general("events.deliveries"),
                  cell: ({ deliveries }) => (
                    <Deliveries deliveries={deliveries} onRedeliver={undefined} />
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
