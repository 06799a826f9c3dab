/** The page with the form of an upstream: a new one, or one of the store. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useT } from "../../i18n/messages.ts";
import { FormPage } from "../../ui/form-page.tsx";
import { LinesSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { UpstreamForm } from "./upstream-form.tsx";
import { kindsQuery, upstreamsQuery } from "./upstreams-query.ts";

export function NewUpstreamPage() {
  const t = useT();
  return <EditPage title={t("upstreams.create")} id={undefined} />;
}

export function EditUpstreamPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/upstreams/$id/edit" });
  return <EditPage key={id} title={t("upstreams.edit.title", { name: id })} id={id} />;
}

function EditPage({ title, id }: { title: string; id: string | undefined }) {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const kinds = useQuery(kindsQuery);
  const upstreams = useQuery(upstreamsQuery);
  const skeleton = <LinesSkeleton lines={8} />;
  return (
    <FormPage
      title={title}
      parent={{ to: "/upstreams", title: t("nav.upstreams") }}
      leave={() => navigate({ to: "/upstreams" })}
    >
      {(onSaved) => (
        <QueryView query={kinds} loading={skeleton}>
          {({ data }) => (
            <QueryView query={upstreams} loading={skeleton}>
              {(list) => {
                const upstream = list.data.find((each) => each.id === id);
                return id !== undefined && (!upstream || upstream.read_only) ? (
                  <Empty title={t("upstreams.notEditable")} />
                ) : (
                  <UpstreamForm
                    kinds={data}
                    upstream={upstream}
                    onSaved={async () => {
                      await queryClient.invalidateQueries({ queryKey: upstreamsQuery.queryKey });
                      await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
                      await onSaved();
                    }}
                  />
                );
              }}
            </QueryView>
          )}
        </QueryView>
      )}
    </FormPage>
  );
}
