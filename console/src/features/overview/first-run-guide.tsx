import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  type Capability,
  canSomewhere,
  type FirstRunGuide as Guide,
} from "../../../../contract/admin.ts";
import { sessionQuery } from "../../api/session.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";

interface Step {
  readonly message: MessageKey;
  readonly isDone: boolean;
  readonly link: string;
  readonly needs: Capability;
}

/** The first steps with a new gateway, until all are done. A step that the user may not do is left out. */
export function FirstRunGuide({ guide }: { guide: Guide }) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const all: readonly Step[] = [
    {
      message: "overview.guide.key",
      isDone: guide.has_key,
      link: "/keys",
      needs: "develop",
    },
    {
      message: "overview.guide.request",
      isDone: guide.has_request,
      link: "/playground/embeddings",
      needs: "develop",
    },
    {
      message: "overview.guide.upstream",
      isDone: guide.has_upstream,
      link: "/upstreams",
      needs: "administer",
    },
  ];
  const steps = all.filter(({ needs }) => canSomewhere(session?.user, needs));
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <Card title={t("overview.guide")}>
      <ol className="grid gap-3 p-4 sm:grid-cols-3">
        {steps.map(({ message, isDone, link }, at) => (
          <li key={message} className="flex items-center gap-2">
            <span
              aria-hidden="true"
              className="flex size-6 shrink-0 items-center justify-center rounded-full bg-sunken text-xs font-medium"
            >
              {at + 1}
            </span>
            <Link to={link} className="text-accent underline underline-offset-2">
              {t(message)}
            </Link>
            {isDone && <Badge tone="good">{t("overview.guide.done")}</Badge>}
          </li>
        ))}
      </ol>
    </Card>
  );
}
