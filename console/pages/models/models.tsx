import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ShownModel } from "../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { modelsQuery } from "./models-query.ts";
import { TargetState } from "./target-state.tsx";

export function ModelsPage() {
  const t = useT();
  const [search, setSearch] = useState("");
  const query = useQuery(modelsQuery);
  return (
    <Page title={t("nav.models")} description={t("models.description")}>
      <Input
        type="search"
        aria-label={t("models.search")}
        placeholder={t("models.search")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        className="max-w-sm"
      />
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <ModelTable models={data.filter(({ id }) => id.includes(search.trim()))} />
          )}
        </QueryView>
      </Card>
    </Page>
  );
}

function ModelTable({ models }: { models: readonly ShownModel[] }) {
  const t = useT();
  if (models.length === 0) return <Empty title={t("models.none")} />;
  return (
    <Table
      label={t("nav.models")}
      rows={models}
      rowKey={({ id }) => id}
      columns={[
        {
          key: "id",
          header: t("models.id"),
          cell: ({ id, description }) => (
            <div className="flex flex-col gap-0.5">
              <span className="flex items-center gap-2">
                <Link
                  to="/model/$"
                  params={{ _splat: id }}
                  className="font-mono text-xs text-accent underline-offset-2 hover:underline"
                >
                  {id}
                </Link>
                <CopyButton text={id} />
              </span>
              {description !== null && <span className="text-xs text-muted">{description}</span>}
            </div>
          ),
        },
        {
          key: "kind",
          header: t("models.kind"),
          cell: ({ kind }) => <Badge>{t(`model.kind.${kind}`)}</Badge>,
        },
        {
          key: "dimensions",
          header: t("models.dimensions"),
          align: "right",
          cell: ({ dimensions }) => dimensions ?? "–",
        },
        {
          key: "price",
          header: t("models.price"),
          cell: ({ price }) => price ?? t("state.unknown"),
        },
        {
          key: "targets",
          header: t("models.targets"),
          cell: ({ targets }) => (
            <ul className="flex flex-col gap-1">
              {targets.map((target) => (
                <li key={`${target.upstream}/${target.model}`} className="flex items-center gap-2">
                  <span className="text-xs text-muted">{target.upstream}</span>
                  <TargetState target={target} />
                </li>
              ))}
            </ul>
          ),
        },
      ]}
    />
  );
}
