/** Events of the gateway, and their deliveries to webhooks. */

import {
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ShownEvent } from "../../../../contract/admin.ts";
import { call, errorText } from "../../api/client.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useProjectScope } from "../../api/project-scope.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import { Deliveries } from "./deliveries.tsx";
import { EventFacts } from "./event-facts.tsx";
import { EventName } from "./event-name.tsx";
import { eventOptions } from "./event-options.ts";
import { WebhookStatus, webhooksQuery } from "./webhook-status.tsx";

export function EventsPage() {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isAdmin = canSomewhere(session?.user, "administer");
  const [type, setType] = useState("");
  const events = useInfiniteQuery({
    ...pagedQuery<ShownEvent>("/events", { type, project: useProjectScope() }),
    refetchInterval: 5_000,
  });
  const queryClient = useQueryClient();
  const post = useMutation({
    mutationFn: (path: string) => call(path, { method: "POST" }),
    onSettled: async () => {
      await queryClient.invalidateQueries({ queryKey: ["/events"] });
      await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
    },
  });
  return (
    <Page title={t("nav.events")} description={t("events.description")}>
      <FormError message={post.error === null ? undefined : errorText(post.error)} />
      <p role="status" className="sr-only">
        {post.isSuccess && t("events.redelivered")}
      </p>
      <WebhookStatus maySendTest={isAdmin} />
      <Card
        title={t("events.events")}
        actions={
          <div className="w-64 max-w-full">
            <Combobox
              aria-label={t("events.type")}
              placeholder={t("events.all")}
              allowsOther
              value={type}
              onChange={setType}
              options={[
                ...(type === "" ? [] : [{ value: "", label: t("events.all") }]),
                ...eventOptions,
              ]}
            />
          </div>
        }
      >
        <PagedTable
          label={t("events.events")}
          query={events}
          rowKey={({ id }) => id}
          empty={t("events.none")}
          columns={[
            {
              key: "at",
              header: t("column.time"),
              cell: ({ timestamp }) => <Time iso={timestamp} />,
            },
            {
              key: "type",
              header: t("events.type"),
              cell: ({ type: name }) => <EventName type={name} />,
            },
            {
              key: "data",
              header: t("events.data"),
              cell: (event) => <EventFacts {...event} />,
            },
            {
              key: "deliveries",
              header: t("events.deliveries"),
              cell: ({ id, deliveries }) => (
                <Deliveries
                  deliveries={deliveries}
                  onRedeliver={
                    isAdmin
                      ? (webhook) => post.mutate(`/events/${id}/deliveries/${webhook}`)
                      : undefined
                  }
                />
              ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
