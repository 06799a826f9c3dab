/** One request: its timeline, why it went to this target, and everything that is recorded about it. */

import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { RequestDetail } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { ErrorReason } from "./error-reason.tsx";
import { ContentCard } from "./request-content.tsx";
import { Facts } from "./request-facts.tsx";
import { RequestTimeline } from "./request-timeline.tsx";
import { RoutingReasons } from "./routing-reasons.tsx";

const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => call<RequestDetail>(`/requests/${encodeURIComponent(id)}`, { signal }),
  });

export function RequestPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/requests/$id" });
  const query = useQuery(requestQuery(id));
  const hasContent = query.data && query.data.content_expires_at !== null;
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isDeveloper = canSomewhere(session?.user, "develop");
  return (
    <Page
      title={t("request.title")}
      parent={{ to: "/requests", title: t("nav.requests") }}
      crumb={id}
      {...(query.data && { description: t(hasContent ? "request.hasContent" : "request.content") })}
      actions={<CopyButton text={id} label={t("request.copyId")} />}
    >
      <QueryView query={query}>
        {(request) => (
          <>
            {request.error !== null && <ErrorReason request={request} />}
            <Card title={t("request.timeline")}>
              <RequestTimeline request={request} />
            </Card>
            <Card title={t("request.why")}>
              <RoutingReasons request={request} />
            </Card>
            <Facts request={request} />
            {isDeveloper && request.content_expires_at !== null && (
              <ContentCard id={request.id} expiresAt={request.content_expires_at} />
            )}
          </>
        )}
      </QueryView>
    </Page>
  );
}
