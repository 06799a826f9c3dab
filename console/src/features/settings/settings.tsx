/** The settings in force. They cannot be changed here: the gateway reads them at its start. */
import { useQuery } from "@tanstack/react-query";
import type { Setting } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

export function SettingsPage() {
  const t = useT();
  const query = useQuery(listQuery<Setting>("/settings"));
  return (
    <Page title={t("nav.settings")} description={t("settings.description")}>
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <Table
              label={t("nav.settings")}
              rows={data}
              rowKey={({ name }) => name}
              columns={[
                {
                  key: "name",
                  header: t("settings.name"),
                  sortBy: ({ name }) => name,
                  cell: ({ name, description }) => (
                    <>
                      <code className="font-mono text-xs">{name}</code>
                      <p className="text-xs text-muted">{description}</p>
                    </>
                  ),
                },
                {
                  key: "value",
                  header: t("settings.value"),
                  cell: ({ value, source }) => (
                    <span className="flex flex-wrap items-center gap-2">
                      <code className="font-mono text-xs break-all">{value || "–"}</code>
                      {source !== "default" && <Badge tone="accent">{t("settings.changed")}</Badge>}
                    </span>
                  ),
                },
              ]}
            />
          )}
        </QueryView>
      </Card>
    </Page>
  );
}
