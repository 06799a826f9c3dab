/** The audit log: every change and every sign-in as sentences, with filters that an export has, too. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import type { AuditEntry, User } from "../../../../contract/admin.ts";
import { pathWithQuery } from "../../api/client.ts";
import { listQuery, pagedQuery } from "../../api/lists.ts";
import { useLanguage } from "../../i18n/messages.ts";
import { buttonStyle } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { UserLink } from "../../ui/entity-links.tsx";
import { Input } from "../../ui/input.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { optionsOf, Select } from "../../ui/select.tsx";
import { Time } from "../../ui/time.tsx";
import { AuditSentences } from "./audit-sentence.tsx";
import { type AuditText, auditText } from "./audit-text.ts";
import { Change } from "./change.tsx";

/** Changes of each kind have actions that begin with its name. */
const kinds = [
  "all",
  "project",
  "key",
  "user",
  "model",
  "upstream",
  "alert",
  "webhook",
  "job",
  "session",
] as const;
type Kind = (typeof kinds)[number];

export function AuditPage() {
  const { t: general, language } = useLanguage();
  const t = useMemo(() => auditText(language), [language]);
  const [actor, setActor] = useState("");
  const [kind, setKind] = useState<Kind>("all");
  const [subject, setSubject] = useState("");
  const filters = {
    actor,
    action: kind === "all" ? "" : `${kind}.*`,
    subject: subject.trim(),
  };
  const query = useInfiniteQuery(pagedQuery<AuditEntry>("/audit", filters));
  const users = useQuery(listQuery<User>("/users")).data?.data ?? [];
  // The names of deleted users can be typed.
  const names = [...users.map(({ name }) => name), "admin token"];
  return (
    <Page
      title={general("nav.audit")}
      description={t("audit.description")}
      actions={
        <a
          href={`/admin/api${pathWithQuery("/audit.csv", filters)}`}
          download="audit.csv"
          className={buttonStyle({})}
        >
          <Download className="size-4" aria-hidden="true" />
          {t("audit.export")}
        </a>
      }
    >
      <div className="flex flex-wrap gap-2">
        <div className="w-64">
          <Combobox
            aria-label={t("audit.actor")}
            placeholder={t("audit.everyone")}
            allowsOther
            value={actor}
            onChange={setActor}
            options={[
              ...(actor === "" ? [] : [{ value: "", label: t("audit.everyone") }]),
              ...optionsOf(names),
            ]}
          />
        </div>
        <div className="w-44">
          <Select
            aria-label={t("audit.kind")}
            value={kind}
            onChange={setKind}
            options={kinds.map((each) => ({ value: each, label: t(`audit.kind.${each}`) }))}
          />
        </div>
        <Input
          type="search"
          aria-label={t("audit.subject")}
          placeholder={t("audit.subject")}
          value={subject}
          maxLength={300}
          onChange={(event) => setSubject(event.target.value)}
          className="max-w-56"
        />
      </div>
      <Card>
        <PagedTable
          label={general("nav.audit")}
          query={query}
          rowKey={({ id }) => id}
          empty={t("audit.none")}
          columns={[
            { key: "at", header: general("column.time"), cell: ({ at }) => <Time iso={at} /> },
            {
              key: "actor",
              header: t("audit.actor"),
              cell: ({ actor: name }) => {
                const user = users.find((each) => each.name === name);
                return user ? <UserLink id={user.id} name={name} /> : <LongText text={name} />;
              },
            },
            {
              key: "action",
              header: t("audit.action"),
              cell: (entry) => <Entry entry={entry} t={t} users={users} />,
            },
            { key: "address", header: t("audit.address"), cell: ({ address }) => address ?? "–" },
          ]}
        />
      </Card>
    </Page>
  );
}

interface EntryProps {
  readonly entry: AuditEntry;
  readonly t: AuditText;
  readonly users: readonly User[];
}

/** The sentences, and on demand the action with the values that it changed. */
function Entry({ entry, t, users }: EntryProps) {
  return (
    <div className="flex max-w-2xl flex-col gap-0.5">
      <AuditSentences entry={entry} t={t} users={users} />
      <details className="text-xs">
        <summary className="cursor-pointer text-muted">{t("audit.details")}</summary>
        <code className="font-mono">{entry.action}</code>
        <Change entry={entry} />
      </details>
    </div>
  );
}
