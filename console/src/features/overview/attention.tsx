import { Link } from "@tanstack/react-router";
import type { AttentionItem } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Time } from "../../ui/time.tsx";

/** Conditions that need attention. Without any, the card says so. */
export function Attention({ items }: { items: readonly AttentionItem[] }) {
  const t = useT();
  return (
    <Card title={t("overview.attention")}>
      {items.length === 0 ? (
        <p className="px-4 py-3 text-muted">{t("overview.attention.none")}</p>
      ) : (
        <ul>
          {items.map(({ type, severity, subject, detail, link }) => (
            <li
              key={`${type} ${subject} ${detail}`}
              className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2.5 first:border-t-0"
            >
              <Badge tone={severity === "error" ? "bad" : "warn"}>{t(`attention.${type}`)}</Badge>
              <span className="font-medium break-all">{subject}</span>
              <span className="min-w-0 basis-full break-words text-muted sm:flex-1 sm:basis-0">
                {type === "key_expiring" ? <Time iso={detail} /> : serverText(detail)}
              </span>
              <Link to={link} className="text-accent underline">
                {t("overview.attention.open")}
                <span className="sr-only"> {subject}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
