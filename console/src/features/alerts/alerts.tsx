/** Alert rules with their state, and the receivers of their notifications. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AlertEntity } from "../../../../contract/admin.ts";
import { deleteEntity } from "../../api/entities.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { RowMenu } from "../../ui/row-menu.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { AlertForm } from "./alert-form.tsx";
import { AlertHistory } from "./alert-history.tsx";
import { AlertReceivers } from "./alert-receivers.tsx";
import { ruleText } from "./rule-text.ts";

const alertsQuery = listQuery<AlertEntity>("/alerts");

export function AlertsPage() {
  const t = useT();
  const query = useQuery(alertsQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<AlertEntity | "new">();
  const reload = () => queryClient.invalidateQueries({ queryKey: alertsQuery.queryKey });
  const columns = useColumns(setEdited, async (alert) => {
    await deleteEntity("/alerts", alert);
    await reload();
  });
  return (
    <Page
      title={t("nav.alerts")}
      description={t("alerts.description")}
      actions={
        <Button look="primary" onClick={() => setEdited("new")}>
          {t("alerts.create")}
        </Button>
      }
    >
      <Card>
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t("alerts.none")}>
                <p className="mb-3">{t("alerts.noneHint")}</p>
                <Button onClick={() => setEdited("new")}>{t("alerts.create")}</Button>
              </Empty>
            ) : (
              <Table
                label={t("nav.alerts")}
                rows={data}
                rowKey={({ id }) => id}
                columns={columns}
              />
            )
          }
        </QueryView>
      </Card>
      <AlertReceivers />
      <AlertHistory />
      <Dialog
        title={edited === "new" ? t("alerts.create") : t("alerts.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && (
          <AlertForm
            alert={edited === "new" ? undefined : edited}
            onSaved={async () => {
              setEdited(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
    </Page>
  );
}

function useColumns(
  edit: (alert: AlertEntity) => void,
  remove: (alert: AlertEntity) => Promise<void>,
): readonly Column<AlertEntity>[] {
  const t = useT();
  return [
    {
      key: "name",
      header: t("alerts.name"),
      sortBy: ({ id }) => id,
      cell: ({ id, origin, problem }) => (
        <span className="flex flex-col gap-0.5">
          <span className="flex flex-wrap items-center gap-2 font-medium">
            {id} <OriginBadge origin={origin} />
          </span>
          {problem !== null && <span className="text-xs text-bad">{problem}</span>}
        </span>
      ),
    },
    { key: "rule", header: t("alerts.rule"), cell: ({ value }) => ruleText(value, t) },
    {
      key: "state",
      header: t("alerts.state"),
      sortBy: ({ state }) => t(`alerts.state.${state}`),
      cell: ({ state }) => (
        <Badge tone={state === "firing" ? "bad" : "good"}>{t(`alerts.state.${state}`)}</Badge>
      ),
    },
    {
      key: "changed",
      header: t("alerts.changed"),
      sortBy: ({ changed_at }) => changed_at,
      cell: ({ changed_at }) => <Time iso={changed_at} />,
    },
    {
      key: "actions",
      header: t("column.actions"),
      cell: (alert) =>
        !alert.read_only && (
          <RowMenu
            name={alert.id}
            actions={[
              { label: t("action.edit"), onSelect: () => edit(alert) },
              {
                label: t("action.delete"),
                isDangerous: true,
                confirm: {
                  title: t("alerts.delete.title", { name: alert.id }),
                  description: t("alerts.delete.description"),
                },
                onSelect: () => remove(alert),
              },
            ]}
          />
        ),
    },
  ];
}
