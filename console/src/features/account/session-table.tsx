/** The sessions of the signed-in user, each of which can be ended. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { AccountSession } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { accountSessionsQuery } from "./account-query.ts";
import { browserName } from "./browser-name.ts";

export function SessionTable() {
  const t = useT();
  const query = useQuery(accountSessionsQuery);
  const queryClient = useQueryClient();
  const end = async ({ id }: AccountSession): Promise<void> => {
    await call(`/account/sessions/${id}`, { method: "DELETE" });
    await queryClient.invalidateQueries({ queryKey: accountSessionsQuery.queryKey });
  };
  return (
    <Card title={t("account.sessions")}>
      <QueryView query={query}>
        {({ data }) => (
          <Table
            label={t("account.sessions")}
            rows={data}
            rowKey={({ id }) => id}
            columns={[
              {
                key: "browser",
                header: t("account.sessions.browser"),
                cell: ({ user_agent, is_current }) => (
                  <span className="flex flex-wrap items-center gap-2">
                    {browserName(user_agent) || t("state.unknown")}
                    {is_current && <Badge tone="accent">{t("account.sessions.current")}</Badge>}
                  </span>
                ),
              },
              {
                key: "address",
                header: t("account.sessions.address"),
                cell: ({ address }) => <code className="font-mono text-xs">{address}</code>,
              },
              {
                key: "signedIn",
                header: t("account.sessions.signedIn"),
                cell: ({ signed_in_at }) => <Time iso={signed_in_at} />,
              },
              {
                key: "seen",
                header: t("account.sessions.seen"),
                cell: ({ last_seen_at }) => <Time iso={last_seen_at} />,
              },
              {
                key: "actions",
                header: t("column.actions"),
                cell: (session) =>
                  !session.is_current && (
                    <ConfirmButton
                      label={t("account.sessions.end")}
                      title={t("account.sessions.end.title")}
                      description={t("account.sessions.end.description")}
                      onConfirm={() => end(session)}
                    />
                  ),
              },
            ]}
          />
        )}
      </QueryView>
    </Card>
  );
}
