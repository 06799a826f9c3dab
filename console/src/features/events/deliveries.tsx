import type { ShownEvent } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";

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
  if (deliveries.length === 0) return "–";
  return (
    <ul className="flex flex-col gap-1">
      {deliveries.map(({ webhook, state, status, problem }) => (
        <li key={webhook} className="flex flex-wrap items-center gap-1">
          <Badge tone={tones[state]}>
            {t(`events.delivery.${state}`)} {status}
          </Badge>
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
