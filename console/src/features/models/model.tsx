/** One model: its id, code that uses it, its targets and its limits. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ShownModel } from "../../../../contract/admin.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { ButtonLink } from "../../ui/button-link.tsx";
import { Card } from "../../ui/card.tsx";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { originText } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Capabilities } from "./capabilities.tsx";
import { ModelActions } from "./model-actions.tsx";
import { ModelKeys } from "./model-keys.tsx";
import { ModelTraffic } from "./model-traffic.tsx";
import { modelsQuery } from "./models-query.ts";
import { priceText } from "./price-text.ts";
import { sampleRequest } from "./sample-request.ts";
import { TargetTable } from "./target-table.tsx";

export function ModelPage() {
  const t = useT();
  const { _splat: id = "" } = useParams({ from: "/signed-in/model/$" });
  const query = useQuery(modelsQuery);
  const kind = query.data?.data.find((each) => each.id === id)?.kind;
  const { data: session } = useSuspenseQuery(sessionQuery);
  return (
    <Page
      title={id}
      parent={{ to: "/models", title: t("nav.models") }}
      actions={
        <>
          {kind && canSomewhere(session?.user, "develop") && (
            <ButtonLink
              to={kind === "image" ? "/playground/images" : "/playground/embeddings"}
              search={{ model: id }}
            >
              {t("model.openPlayground")}
            </ButtonLink>
          )}
          <CopyButton text={id} label={t("model.copyId")} />
          <ModelActions key={id} id={id} />
        </>
      }
    >
      <QueryView query={query}>
        {({ data }) => {
          const model = data.find((each) => each.id === id);
          return model ? <Details model={model} /> : <Empty title={t("models.notFound")} />;
        }}
      </QueryView>
    </Page>
  );
}

function Details({ model }: { model: ShownModel }) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isDeveloper = canSomewhere(session?.user, "develop");
  const rows: readonly [string, ReactNode][] = [
    [t("models.capabilities"), <Capabilities key="capabilities" model={model} />],
    [t("model.origin"), originText(model.origin, t)],
    [t("models.price"), priceText(model.prices, t)],
    [t("models.dimensions"), model.dimensions],
    [t("model.context"), model.context_tokens],
    [t("model.space"), model.vector_space],
    [t("model.endsOn"), model.ends_on],
    [
      t("model.limits"),
      model.limits
        ? Object.entries(model.limits)
            .map(([name, value]) => `${name} ${value}`)
            .join(", ")
        : t("model.noLimits"),
    ],
  ];
  return (
    <>
      {model.description !== null && <p>{model.description}</p>}
      {model.stores_content && (
        <p className="rounded-md bg-warn-soft p-3 text-sm text-warn">{t("model.storesContent")}</p>
      )}
      <Card>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-2 p-4 lg:grid-cols-4">
          {rows
            .filter(([, value]) => value !== null)
            .map(([name, value]) => (
              <div key={name} className="min-w-0">
                <dt className="text-xs text-muted">{name}</dt>
                <dd className="break-words">{value}</dd>
              </div>
            ))}
        </dl>
      </Card>
      <Card title={t("models.targets")}>
        <TargetTable targets={model.targets} />
      </Card>
      <ModelTraffic model={model.id} isImage={model.kind === "image"} />
      <Card title={t("model.code")}>
        <div className="p-4">
          <CodeSamples label={t("model.code")} request={sampleRequest(model)} />
        </div>
      </Card>
      {isDeveloper && (
        <Card title={t("model.keys")}>
          <ModelKeys model={model.id} />
        </Card>
      )}
    </>
  );
}
