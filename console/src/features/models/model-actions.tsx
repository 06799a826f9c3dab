/** Edit and delete a model of the store. Other models are defined elsewhere. */

import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import { deleteEntity } from "../../api/entities.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { ButtonLink } from "../../ui/button-link.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { modelDetailQuery, modelsQuery } from "./models-query.ts";

export function ModelActions({ id }: { id: string }) {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isAdmin = canSomewhere(session?.user, "administer");
  const detailQuery = modelDetailQuery(id);
  const { data } = useQuery({ ...detailQuery, enabled: isAdmin });
  const reload = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: detailQuery.queryKey });
  };
  if (!isAdmin || !data || data.definition.read_only) return null;
  const { definition } = data;
  return (
    <>
      <ButtonLink to="/edit-model/$" params={{ _splat: id }} look="secondary">
        {t("action.edit")}
      </ButtonLink>
      <ConfirmButton
        label={t("action.delete")}
        title={t("models.delete.title", { name: id })}
        description={t("models.delete.description")}
        onConfirm={async (isForced) => {
          await deleteEntity("/models", definition, isForced);
          await navigate({ to: "/models" });
          await reload();
        }}
      />
    </>
  );
}
