/** The latest events of a project, a key or an upstream. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ShownEvent } from "../../../../contract/admin.ts";
import type { EventData } from "../../../../contract/events.ts";
import { listQuery } from "../../api/lists.ts";
import { type Language, type Translate, useLanguage } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { eventName } from "../events/event-names.ts";

const maxShown = 5;

interface EventCardProps {
  /** One of them. */
  readonly project?: string;
  readonly key_id?: string;
  readonly upstream?: string;
}

export function EventCard({ project, key_id: key, upstream }: EventCardProps) {
  const { t, language } = useLanguage();
  const about = { project, key, upstream };
  const query = useQuery(listQuery<ShownEvent>("/events", { ...about, limit: maxShown }));
  return (
    <Card
      title={t("project.events")}
      actions={
        <Link
          to="/events"
          search={project === undefined ? {} : { project }}
          className="text-sm text-accent hover:underline"
        >
          {t("nav.events")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("project.events.none")} />
          ) : (
            <ul>
              {data.map((event) => (
                <li
                  key={event.id}
                  className="flex flex-wrap justify-between gap-2 border-t border-line px-4 py-2 first:border-t-0"
                >
                  <span title={event.type} className="min-w-0 break-words">
                    {textOf(event, t, language)}
                  </span>
                  <span className="text-muted">
                    <Time iso={event.timestamp} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Card>
  );
}

function textOf({ type, data }: ShownEvent, t: Translate, language: Language): string {
  if (type === "budget.threshold") {
    const { name, percent, budget, period } = data as unknown as EventData["budget.threshold"];
    const limit = dollars(budget);
    return t("project.threshold", { name, percent, limit, period: t(`budgets.period.${period}`) });
  }
  const { name, target_model, reason } = data;
  const subject = [name, target_model].find((each) => typeof each === "string");
  const parts = [eventName(type, language), subject, reason];
  return parts.filter((each) => typeof each === "string").join(" · ");
}
