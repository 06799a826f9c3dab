/** The button that creates a model, for administrators. */

import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ModelForm } from "./model-form.tsx";
import { modelsQuery } from "./models-query.ts";

export function CreateModel() {
  const t = useT();
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { data: session } = useSuspenseQuery(sessionQuery);
  if (!canSomewhere(session?.user, "administer")) return null;
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {t("models.create")}
      </Button>
      <Dialog title={t("models.create")} isOpen={isOpen} onClose={() => setOpen(false)}>
        <ModelForm
          model={undefined}
          onSaved={async () => {
            setOpen(false);
            await queryClient.invalidateQueries({ queryKey: modelsQuery.queryKey });
          }}
        />
      </Dialog>
    </>
  );
}
