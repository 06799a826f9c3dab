/** The link to the page that creates a model, for administrators. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { ButtonLink } from "../../ui/button-link.tsx";

export function CreateModel() {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  if (!canSomewhere(session?.user, "administer")) return null;
  return (
    <ButtonLink to="/models/new" size="normal">
      {t("models.create")}
    </ButtonLink>
  );
}
