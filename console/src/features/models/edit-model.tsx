/** The page with the form of a model: a new one, or one of the store. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useT } from "../../i18n/messages.ts";
import { FormPage } from "../../ui/form-page.tsx";
import { LinesSkeleton } from "../../ui/skeleton.tsx";
import { QueryView } from "../../ui/states.tsx";
import { ModelForm } from "./model-form.tsx";
import { modelDetailQuery, modelsQuery } from "./models-query.ts";

export function NewModelPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  return (
    <FormPage
      title={t("models.create")}
      parent={{ to: "/models", title: t("nav.models") }}
      leave={() => navigate({ to: "/models" })}
    >
      {(onSaved) => (
        <ModelForm
          model={undefined}
          onSaved={async () => {
            await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
            await onSaved();
          }}
        />
      )}
    </FormPage>
  );
}

export function EditModelPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { _splat: id = "" } = useParams({ from: "/signed-in/edit-model/$" });
  const detailQuery = modelDetailQuery(id);
  const query = useQuery(detailQuery);
  return (
    <FormPage
      title={t("models.edit.title", { name: id })}
      parent={{ to: "/models", title: t("nav.models") }}
      leave={() => navigate({ to: "/model/$", params: { _splat: id } })}
    >
      {(onSaved) => (
        <QueryView query={query} loading={<LinesSkeleton lines={8} />}>
          {({ definition }) =>
            definition.read_only ? (
              <p>{t("models.readOnly")}</p>
            ) : (
              <ModelForm
                model={definition}
                onSaved={async () => {
                  await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
                  await queryClient.invalidateQueries({ queryKey: detailQuery.queryKey });
                  await onSaved();
                }}
              />
            )
          }
        </QueryView>
      )}
    </FormPage>
  );
}
