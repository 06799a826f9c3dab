/** Edit and delete a model of the store. Other models are defined elsewhere. */

import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ModelDetail } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { deleteEntity } from "../../api/entities.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ModelForm } from "./model-form.tsx";
import { modelsQuery } from "./models-query.ts";

export function ModelActions({ id }: { id: string }) {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isAdmin = canSomewhere(session?.user, "administer");
  const detailQuery = {
    queryKey: ["/models", id],
    queryFn: () => call<ModelDetail>(`/models/${encodeURIComponent(id)}`),
    enabled: isAdmin,
  };
  const { data } = useQuery(detailQuery);
  const reload = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: detailQuery.queryKey });
  };
  if (!isAdmin || !data || data.definition.read_only) return null;
  const { definition } = data;
  return (
    <>
      <Button size="small" onClick={() => setEditing(true)}>
        {t("action.edit")}
      </Button>
      <ConfirmButton
        label={t("action.delete")}
        title={t("models.delete.title", { name: id })}
        description={t("models.delete.description")}
        onConfirm={async () => {
          await deleteEntity("/models", definition);
          await navigate({ to: "/models" });
          await reload();
        }}
      />
      <Dialog title={t("models.edit")} isOpen={isEditing} onClose={() => setEditing(false)}>
        <ModelForm
          model={definition}
          onSaved={async () => {
            setEditing(false);
            await reload();
          }}
        />
      </Dialog>
    </>
  );
}
