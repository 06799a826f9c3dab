/** The API reference, from the OpenAPI document of this gateway. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import {
  type OpenApiDocument,
  type Operation,
  operationsOf,
  parameterRows,
  withOwnModel,
} from "./openapi.ts";
import { TryIt } from "./try-it.tsx";

/** The API of the models, and the admin API. */
const documentsQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: async ({ signal }): Promise<readonly OpenApiDocument[]> => [
    await (await fetch("/openapi.json", { signal })).json(),
    await call<OpenApiDocument>("/openapi.json", { signal }),
  ],
  staleTime: Number.POSITIVE_INFINITY,
});

export function ReferencePage() {
  const t = useT();
  const query = useQuery(documentsQuery);
  const { data: models } = useQuery(modelsQuery);
  const [search, setSearch] = useState("");
  const matches = ({ method, path, summary = "" }: Operation): boolean =>
    `${method} ${path} ${summary}`.toLowerCase().includes(search.trim().toLowerCase());
  return (
    <Page title={t("nav.reference")} description={t("reference.description")}>
      <Input
        type="search"
        aria-label={t("reference.search")}
        placeholder={t("reference.search")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        className="max-w-sm"
      />
      <QueryView query={query}>
        {(documents) => {
          const cards = documents.flatMap((document) =>
            operationsOf(document)
              .filter(matches)
              .map((operation) => (
                <OperationCard
                  key={`${operation.method} ${operation.path}`}
                  document={document}
                  operation={withOwnModel(operation, models?.data ?? [])}
                />
              )),
          );
          return cards.length === 0 ? <Empty title={t("reference.none")} /> : cards;
        }}
      </QueryView>
    </Page>
  );
}

function OperationCard({
  document,
  operation,
}: {
  document: OpenApiDocument;
  operation: Operation;
}) {
  const t = useT();
  const rows = parameterRows(document, operation);
  return (
    <Card
      title={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone="accent">{operation.method.toUpperCase()}</Badge>
          <code className="font-mono text-sm break-all">{operation.path}</code>
        </span>
      }
    >
      <details className="p-4">
        <summary className="cursor-pointer">{operation.summary}</summary>
        <div className="mt-3 flex flex-col gap-4">
          {operation.description !== undefined && (
            <p className="text-muted">{operation.description}</p>
          )}
          {rows.length > 0 && (
            <dl className="flex flex-col gap-2">
              {rows.map(({ name, type, isRequired, description }) => (
                <div key={name}>
                  <dt>
                    <code className="font-mono text-xs font-semibold">{name}</code>{" "}
                    <span className="text-xs text-muted">
                      {type}
                      {isRequired && ` · ${t("reference.required")}`}
                    </span>
                  </dt>
                  {description !== undefined && <dd className="text-muted">{description}</dd>}
                </div>
              ))}
            </dl>
          )}
          {operation.example !== undefined && (
            <CodeBlock
              label={t("reference.example")}
              code={JSON.stringify(operation.example, null, 2)}
            />
          )}
          <TryIt key={JSON.stringify(operation.example)} operation={operation} />
        </div>
      </details>
    </Card>
  );
}
