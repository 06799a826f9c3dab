/** Dimensions, tokens, latency and cost of each model. */
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { requestCostsQuery } from "../../api/request-cost.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { Table } from "../../ui/table.tsx";
import { downloadVectors } from "./download-vectors.ts";
import type { Embedded } from "./embed.ts";
import type { Entry } from "./entries.ts";

interface ResultTableProps {
  readonly entries: readonly Entry[];
  readonly results: readonly Embedded[];
}

function Cost({ requestIds }: { requestIds: readonly string[] }) {
  const { data = null } = useQuery(requestCostsQuery(requestIds));
  return dollars(data);
}

export function ResultTable({ entries, results }: ResultTableProps) {
  const t = useT();
  return (
    <Table
      label={t("embeddings.results")}
      rows={results}
      rowKey={({ model }) => model}
      columns={[
        {
          key: "model",
          header: t("requests.model"),
          sortBy: ({ model }) => model,
          cell: ({ model }) => <code className="font-mono text-xs">{model}</code>,
        },
        {
          key: "dimensions",
          header: t("models.dimensions"),
          sortBy: ({ dimensions }) => dimensions,
          align: "right",
          cell: ({ dimensions }) => dimensions,
        },
        {
          key: "tokens",
          header: t("figure.tokens"),
          sortBy: ({ tokens }) => tokens,
          align: "right",
          cell: ({ tokens }) => count(tokens),
        },
        {
          key: "latency",
          header: t("requests.latency"),
          sortBy: ({ durationMs }) => durationMs,
          align: "right",
          cell: ({ durationMs }) => milliseconds(durationMs),
        },
        {
          key: "cost",
          header: t("figure.cost"),
          align: "right",
          cell: ({ requestIds }) => <Cost requestIds={requestIds} />,
        },
        {
          key: "actions",
          header: t("column.actions"),
          cell: (embedded) => (
            <IconButton
              icon={Download}
              label={t("embeddings.download")}
              onClick={() => downloadVectors(entries, embedded)}
            />
          ),
        },
      ]}
    />
  );
}
