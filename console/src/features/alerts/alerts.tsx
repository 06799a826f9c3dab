/** Alert rules with their state, and the receivers of their notifications. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AlertEntity } from "../../../../contract/admin.ts";
import { deleteEntity } from "../../api/entities.ts";
import { listQuery } from "../../api/lists.ts";
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
import { AlertRule } from "./alert-rule.tsx";
import { AlertState } from "./alert-state.tsx";
import { useAlertText } from "./alert-text.ts";
import { AlertValue, measuredEveryMs } from "./alert-value.tsx";
import { endSilence, SilenceForm } from "./silence-form.tsx";

const alertsQuery = listQuery<AlertEntity>("/alerts");

export function AlertsPage() {
  const { t, general } = useAlertText();
  const query = useQuery({ ...alertsQuery, refetchInterval: measuredEveryMs });
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<AlertEntity | "new">();
  const [silenced, setSilenced] = useState<AlertEntity>();
  const reload = () => queryClient.invalidateQueries({ queryKey: alertsQuery.queryKey });
  const columns = useColumns({
    edit: setEdited,
    remove: async (alert) => {
      await deleteEntity("/alerts", alert);
      await reload();
    },
    silence: setSilenced,
    endSilence: async (alert) => {
      await endSilence(alert);
      await reload();
    },
  });
  return (
    <Page
      title={general("nav.alerts")}
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
                label={general("nav.alerts")}
                rows={data}
                rowKey={({ id }) => id}
                columns={columns}
              />
            )
          }
        </QueryView>
      </Card>
      <AlertReceivers alerts={query.data?.data ?? []} />
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
      <Dialog
        title={t("alerts.silence.title", { name: silenced?.id ?? "" })}
        isOpen={silenced !== undefined}
        onClose={() => setSilenced(undefined)}
      >
        {silenced && (
          <SilenceForm
            alert={silenced}
            onSaved={async () => {
              setSilenced(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
    </Page>
  );
}

type AlertAction = (alert: AlertEntity) => unknown;

function useColumns(
  actions: Readonly<Record<"edit" | "remove" | "silence" | "endSilence", AlertAction>>,
): readonly Column<AlertEntity>[] {
  const { t, general } = useAlertText();
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
    {
      key: "rule",
      header: t("alerts.rule"),
      cell: (alert) => <AlertRule {...alert} />,
    },
    {
      key: "value",
      header: t("alerts.value"),
      cell: (alert) => <AlertValue alert={alert} />,
    },
    {
      key: "state",
      header: t("alerts.state"),
      sortBy: ({ state }) => t(`alerts.state.${state}`),
      cell: (alert) => <AlertState alert={alert} />,
    },
    {
      key: "changed",
      header: t("alerts.changed"),
      sortBy: ({ changed_at }) => changed_at,
      cell: ({ changed_at }) => <Time iso={changed_at} />,
    },
    {
      key: "actions",
      header: general("column.actions"),
      cell: (alert) => (
        <RowMenu
          name={alert.id}
          actions={[
            { label: t("alerts.silence"), onSelect: () => actions.silence(alert) },
            alert.silence !== null && {
              label: t("alerts.silence.end"),
              onSelect: () => actions.endSilence(alert),
            },
            !alert.read_only && {
              label: general("action.edit"),
              onSelect: () => actions.edit(alert),
            },
            !alert.read_only && {
              label: general("action.delete"),
              isDangerous: true,
              confirm: {
                title: t("alerts.delete.title", { name: alert.id }),
                description: t("alerts.delete.description"),
              },
              onSelect: () => actions.remove(alert),
            },
          ]}
        />
      ),
    },
  ];
}
