/** One request: its timeline, why it went to this target, and everything that is recorded about it. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useT } from "../../i18n/messages.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { RequestParts, requestQuery } from "./request-parts.tsx";

export function RequestPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/requests/$id" });
  const query = useQuery(requestQuery(id));
  const hasContent = (query.data?.content_expires_at ?? null) !== null;
  return (
    <Page
      title={t("request.title")}
      parent={{ to: "/requests", title: t("nav.requests") }}
      crumb={id}
      description={t(hasContent ? "request.hasContent" : "request.content")}
      actions={<CopyButton text={id} label={t("request.copyId")} />}
    >
      <QueryView query={query}>{(request) => <RequestParts request={request} />}</QueryView>
    </Page>
  );
}
