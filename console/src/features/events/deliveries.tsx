import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ShownEvent } from "../../../../contract/admin.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { webhooksQuery } from "./webhook-status.tsx";

type Delivery = ShownEvent["deliveries"][number];

const tones: Readonly<Record<Delivery["state"], Tone>> = {
  delivered: "good",
  waiting: "warn",
  abandoned: "bad",
};

interface DeliveriesProps {
  readonly deliveries: readonly Delivery[];
  /** If absent, the user may not deliver again. */
  readonly onRedeliver: ((webhook: string) => void) | undefined;
}

/** The deliveries of one event. */
export function Deliveries({ deliveries, onRedeliver }: DeliveriesProps) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isAdmin = canSomewhere(session?.user, "administer");
  const webhooks = useQuery({ ...webhooksQuery, enabled: deliveries.length > 0 });
  const nameOf = (id: string): string => {
    const found = webhooks.data?.data.find((webhook) => webhook.id === id);
    return found ? (found.name ?? found.url) : id;
  };
  if (deliveries.length === 0) return "–";
  return (
    <ul className="flex flex-col gap-1">
      {deliveries.map(({ webhook, state, status, problem }) => (
        <li key={webhook} className="flex flex-wrap items-center gap-1">
          <Badge tone={tones[state]}>
            {t(`events.delivery.${state}`)} {status}
          </Badge>
          {isAdmin ? (
            <Link
              to="/webhooks"
              className="text-xs underline-offset-2 hover:text-accent hover:underline"
            >
              <LongText text={nameOf(webhook)} />
            </Link>
          ) : (
            <span className="text-xs">
              <LongText text={nameOf(webhook)} />
            </span>
          )}
          <span className="text-xs text-muted">{problem}</span>
          {onRedeliver && (
            <Button size="small" look="quiet" onClick={() => onRedeliver(webhook)}>
              {t("events.redeliver")}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
