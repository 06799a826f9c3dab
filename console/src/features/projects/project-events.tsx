/** The latest budget thresholds of a project and of its tags. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ShownEvent } from "../../../../contract/admin.ts";
import type { EventData } from "../../../../contract/events.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

const maxShown = 5;
const eventsQuery = listQuery<ShownEvent>("/events", { type: "budget.threshold", limit: 200 });

export function ProjectEvents({ project }: { project: string }) {
  const t = useT();
  const query = useQuery(eventsQuery);
  return (
    <Card
      title={t("project.events")}
      actions={
        <Link to="/events" className="text-sm text-accent hover:underline">
          {t("nav.events")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data }) => {
          const own = data
            .map(({ id: eventId, timestamp, data: of }) => ({
              ...(of as unknown as EventData["budget.threshold"]),
              eventId,
              timestamp,
            }))
            .filter(
              ({ scope, name, project: of }) =>
                of === project || (scope === "project" && name === project),
            )
            .slice(0, maxShown);
          if (own.length === 0) return <Empty title={t("project.events.none")} />;
          return (
            <ul>
              {own.map(({ eventId, timestamp, name, percent, budget, period }) => (
                <li
                  key={eventId}
                  className="flex flex-wrap justify-between gap-2 border-t border-line px-4 py-2 first:border-t-0"
                >
                  <span>
                    {t("project.threshold", {
                      name,
                      percent,
                      limit: dollars(budget),
                      period: t(`budgets.period.${period}`),
                    })}
                  </span>
                  <span className="text-muted">
                    <Time iso={timestamp} />
                  </span>
                </li>
              ))}
            </ul>
          );
        }}
      </QueryView>
    </Card>
  );
}
