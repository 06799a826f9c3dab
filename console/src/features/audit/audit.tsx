/** The audit log: every change and every sign-in, filtered by user. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { AuditEntry, User } from "../../../../contract/admin.ts";
import { listQuery, pagedQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { Time } from "../../ui/time.tsx";
import { Change } from "./change.tsx";

export function AuditPage() {
  const t = useT();
  const [actor, setActor] = useState("");
  const query = useInfiniteQuery(pagedQuery<AuditEntry>("/audit", { actor }));
  const users = useQuery(listQuery<User>("/users")).data?.data ?? [];
  // The names of deleted users can be typed.
  const names = [...users.map(({ name }) => name), "admin token"];
  return (
    <Page title={t("nav.audit")} description={t("audit.description")}>
      <div className="max-w-sm">
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
      <Card>
        <PagedTable
          label={t("nav.audit")}
          query={query}
          rowKey={({ id }) => id}
          empty={t("audit.none")}
          columns={[
            { key: "at", header: t("column.time"), cell: ({ at }) => <Time iso={at} /> },
            {
              key: "actor",
              header: t("audit.actor"),
              cell: ({ actor: name }) => <LongText text={name} />,
            },
            {
              key: "action",
              header: t("audit.action"),
              cell: ({ action }) => <code className="font-mono text-xs">{action}</code>,
            },
            {
              key: "subject",
              header: t("audit.subject"),
              cell: ({ subject }) => <LongText text={subject ?? "–"} />,
            },
            { key: "change", header: t("audit.change"), cell: (entry) => <Change entry={entry} /> },
            { key: "address", header: t("audit.address"), cell: ({ address }) => address ?? "–" },
          ]}
        />
      </Card>
    </Page>
  );
}
