/** The API reference, from the OpenAPI document of this gateway. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { type OpenApiDocument, type Operation, operationsOf, parameterRows } from "./openapi.ts";
import { TryIt } from "./try-it.tsx";

const documentQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: async ({ signal }): Promise<OpenApiDocument> =>
    (await fetch("/openapi.json", { signal })).json(),
  staleTime: Number.POSITIVE_INFINITY,
});

export function ReferencePage() {
  const t = useT();
  const query = useQuery(documentQuery);
  return (
    <Page title={t("nav.reference")} description={t("reference.description")}>
      <QueryView query={query}>
        {(document) =>
          operationsOf(document).map((operation) => (
            <OperationCard
              key={`${operation.method} ${operation.path}`}
              document={document}
              operation={operation}
            />
          ))
        }
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
          <TryIt operation={operation} />
        </div>
      </details>
    </Card>
  );
}
