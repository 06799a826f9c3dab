/** Conditions that need attention, grouped: the worst first, and of many of a kind the first ones. */
import { Link } from "@tanstack/react-router";
import type { AttentionGroup, AttentionItem } from "../../../../contract/admin.ts";
import { useLanguage, useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { count } from "../../lib/format.ts";
import { dateOnly } from "../../lib/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Time } from "../../ui/time.tsx";

/** Shown of each group. The list behind the link has all. */
const maxShown = 3;

/** The page that lists all conditions of a type. */
const listOf: Readonly<Record<AttentionItem["type"], string>> = {
  target_unhealthy: "/models",
  budget_exhausted: "/budgets",
  budget_nearly_exhausted: "/budgets",
  key_expiring: "/keys",
  config_rejected: "/events",
  ledger_unwritable: "/events",
  model_ending: "/models",
  webhook_failing: "/webhooks",
};

/** Without any condition, the card says so. */
export function Attention({ groups }: { groups: readonly AttentionGroup[] }) {
  const t = useT();
  return (
    <Card title={t("overview.attention")}>
      {groups.length === 0 ? (
        <p className="px-4 py-3 text-muted">{t("overview.attention.none")}</p>
      ) : (
        <ul>
          {groups.map((group) => (
            <Group key={group.type} group={group} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Group({ group: { type, severity, count: total, items } }: { group: AttentionGroup }) {
  const t = useT();
  const shown = items.slice(0, maxShown);
  return (
    <li className="flex flex-col gap-x-4 gap-y-1.5 border-t border-line px-4 py-3 first:border-t-0 sm:flex-row">
      <div className="flex shrink-0 items-start gap-2 sm:w-56">
        <Badge tone={severity === "error" ? "bad" : "warn"}>{t(`attention.${type}`)}</Badge>
        {total > 1 && <span className="text-muted tabular-nums">{count(total)}</span>}
      </div>
      <ul className="flex min-w-0 flex-1 flex-col gap-1.5">
        {shown.map((item) => (
          <Item key={`${item.subject} ${item.detail}`} item={item} />
        ))}
        {total > shown.length && (
          <li>
            <Link to={listOf[type]} className="text-accent underline-offset-2 hover:underline">
              {t("overview.attention.more", { count: total - shown.length })}
            </Link>
          </li>
        )}
      </ul>
    </li>
  );
}

function Item({ item: { type, severity, subject, detail, i18n, link } }: { item: AttentionItem }) {
  const { t, language } = useLanguage();
  const isOverdue = type === "model_ending" && severity === "error";
  return (
    <li className="flex min-w-0 flex-wrap items-baseline gap-x-2">
      <Link to={link} className="font-medium break-all underline-offset-2 hover:underline">
        {subject}
      </Link>
      <span className="min-w-0 break-words text-muted">
        {type === "key_expiring" && <Time iso={detail} />}
        {type === "model_ending" && dateOnly(detail, language)}
        {type !== "key_expiring" && type !== "model_ending" && serverText(detail, i18n)}
        {isOverdue && ` · ${t("attention.overdue")}`}
      </span>
    </li>
  );
}
