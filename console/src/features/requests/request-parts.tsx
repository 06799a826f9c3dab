/** The parts that the page of a request and the panel beside the list of requests share. */
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { RequestDetail } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { ErrorReason } from "./error-reason.tsx";
import { ContentCard } from "./request-content.tsx";
import { Facts } from "./request-facts.tsx";
import { RequestTimeline } from "./request-timeline.tsx";
import { RoutingReasons } from "./routing-reasons.tsx";

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => call<RequestDetail>(`/requests/${encodeURIComponent(id)}`, { signal }),
  });

export function RequestParts({ request }: { request: RequestDetail }) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  return (
    <>
      {request.error !== null && <ErrorReason request={request} />}
      <Card title={t("request.timeline")}>
        <RequestTimeline request={request} />
      </Card>
      <Card title={t("request.why")}>
        <RoutingReasons request={request} />
      </Card>
      <Facts request={request} />
      {canSomewhere(session?.user, "develop") && request.content_expires_at !== null && (
        <ContentCard id={request.id} expiresAt={request.content_expires_at} />
      )}
    </>
  );
}
