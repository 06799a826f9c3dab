/** The catalog of models, with a search and the live health of their targets. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Input } from "../../ui/input.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { Page } from "../../ui/page.tsx";
import { Select } from "../../ui/select.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Capabilities } from "./capabilities.tsx";
import { CreateModel } from "./create-model.tsx";
import { modelsQuery } from "./models-query.ts";
import { priceText } from "./price-text.ts";
import { TargetSummary } from "./target-summary.tsx";

export function ModelsPage() {
  const t = useT();
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState("");
  const query = useQuery(modelsQuery);
  return (
    <Page title={t("nav.models")} description={t("models.description")} actions={<CreateModel />}>
      <div className="flex flex-wrap gap-2">
        <Input
          type="search"
          aria-label={t("models.search")}
          placeholder={t("models.search")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="max-w-sm"
        />
        <Select
          aria-label={t("models.kind")}
          value={kind}
          onChange={setKind}
          className="max-w-44"
          options={[
            { value: "", label: t("models.allKinds") },
            { value: "embedding", label: t("model.kind.embedding") },
            { value: "image", label: t("model.kind.image") },
          ]}
        />
      </div>
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <ModelTable models={data.filter((model) => matches(model, search, kind))} />
          )}
        </QueryView>
      </Card>
    </Page>
  );
}

/** Every word occurs in the id, the description, the vendor, the vector space or a target. */
function matches(model: ShownModel, search: string, kind: string): boolean {
  const { id, description, owned_by, vector_space, targets } = model;
  const text = [id, description, owned_by, vector_space]
    .concat(targets.flatMap((target) => [target.upstream, target.model]))
    .join(" ")
    .toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return (kind === "" || model.kind === kind) && words.every((word) => text.includes(word));
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
          sortBy: ({ id }) => id,
          cell: ({ id, description }) => (
            <div className="flex flex-col">
              <span className="flex items-center gap-1">
                <Link
                  to="/model/$"
                  params={{ _splat: id }}
                  className="font-mono text-xs text-accent underline-offset-2 hover:underline"
                >
                  <LongText text={id} />
                </Link>
                <CopyButton text={id} />
              </span>
              {description !== null && (
                <span className="text-xs text-muted">
                  <LongText text={description} />
                </span>
              )}
            </div>
          ),
        },
        {
          key: "capabilities",
          header: t("models.capabilities"),
          cell: (model) => <Capabilities model={model} />,
        },
        {
          key: "space",
          header: t("model.space"),
          priority: 3,
          sortBy: ({ vector_space }) => vector_space,
          cell: ({ vector_space }) =>
            vector_space === null ? (
              "–"
            ) : (
              <code className="font-mono text-xs">
                <LongText text={vector_space} />
              </code>
            ),
        },
        {
          key: "price",
          header: t("models.price"),
          cell: ({ prices }) => <LongText text={priceText(prices, t)} />,
        },
        {
          key: "targets",
          header: t("models.targets"),
          cell: ({ targets }) => <TargetSummary targets={targets} />,
        },
      ]}
    />
  );
}
