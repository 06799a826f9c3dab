/** The API reference, from the OpenAPI documents of this gateway. Each operation has an address of its own. */

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { Card } from "../../ui/card.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { type Api, apis, documentQuery, operationsOf } from "./openapi-document.ts";
import { OperationList } from "./operation-list.tsx";
import { OperationPage } from "./operation-page.tsx";

export function ReferencePage() {
  const t = useT();
  const { api: named, operation: id } = useParams({
    from: "/signed-in/reference/{-$api}/{-$operation}",
  });
  const api: Api = named === "admin" ? "admin" : "models";
  const query = useQuery(documentQuery(api));
  const { data: models } = useQuery(modelsQuery);
  const [apiKey, setApiKey] = useState("");
  const firstOf = (kind: ModelKind) => models?.data.find((model) => model.kind === kind)?.id;
  return (
    <Page
      title={t("nav.reference")}
      description={t("reference.description")}
      {...(id !== undefined && {
        parent: { to: "/reference", title: t("nav.reference") },
        crumb: id,
      })}
    >
      <div className="grid gap-6 lg:grid-cols-[16rem_minmax(0,1fr)]">
        <div
          className={classNames(
            "flex min-h-0 flex-col gap-3 self-start lg:sticky lg:top-4 lg:flex lg:max-h-[calc(100dvh-2rem)]",
            // On a phone the list is a page of its own.
            id !== undefined && "max-lg:hidden",
          )}
        >
          <div className="flex gap-1 border-b border-line">
            {(Object.keys(apis) as Api[]).map((each) => (
              <Link
                key={each}
                to="/reference/{-$api}/{-$operation}"
                params={{ api: each }}
                aria-current={each === api ? "true" : undefined}
                className="-mb-px border-b-2 border-transparent px-3 py-1.5 text-muted hover:text-ink aria-[current=true]:border-accent aria-[current=true]:font-medium aria-[current=true]:text-ink"
              >
                {t(apis[each].label)}
              </Link>
            ))}
          </div>
          <QueryView query={query}>
            {(document) => (
              <OperationList key={api} api={api} operations={operationsOf(document)} />
            )}
          </QueryView>
        </div>
        {id === undefined ? (
          <Introduction api={api} />
        ) : (
          <QueryView query={query}>
            {(document) => {
              const operation = operationsOf(document).find(
                ({ operationId }) => operationId === id,
              );
              return operation && models ? (
                <OperationPage
                  key={id}
                  api={api}
                  document={document}
                  operation={operation}
                  models={{ embedding: firstOf("embedding"), image: firstOf("image") }}
                  apiKey={apiKey}
                  onApiKey={setApiKey}
                />
              ) : (
                !operation && <Empty title={t("state.notFound")} />
              );
            }}
          </QueryView>
        )}
      </div>
    </Page>
  );
}

/** The address of the API, its credential, and its document. */
function Introduction({ api }: { api: Api }) {
  const t = useT();
  const base = `${location.origin}${api === "admin" ? "/admin/api" : "/v1"}`;
  return (
    <Card title={t(apis[api].label)} className="self-start max-lg:order-first">
      <div className="flex flex-col gap-3 p-4">
        <p className="text-muted">{t(`reference.intro.${api}`)}</p>
        <CodeBlock label={t("keys.created.baseUrl")} code={base} />
        <CodeBlock label={t("reference.key")} code={`Authorization: Bearer $${apis[api].token}`} />
        <a href={apis[api].document} className="text-accent underline-offset-2 hover:underline">
          {t("reference.document")}
        </a>
      </div>
    </Card>
  );
}
