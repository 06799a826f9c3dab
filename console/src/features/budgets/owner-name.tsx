/** The owner of a budget or limit: its kind, and its name, which leads to its page. */
import type { ShownLimit } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { EndUserLink, KeyLink, ModelLink, ProjectLink } from "../../ui/entity-links.tsx";
import { LongText } from "../../ui/long-text.tsx";

type Owner = Pick<ShownLimit, "scope" | "id" | "name" | "project">;

export function OwnerName({ owner }: { owner: Owner }) {
  const t = useT();
  const { scope } = owner;
  return (
    <span className="flex items-center gap-2">
      <Badge>{scope === "model" ? t("limits.scope.model") : t(`budgets.scope.${scope}`)}</Badge>{" "}
      <OwnerLink owner={owner} />
    </span>
  );
}

function OwnerLink({ owner: { scope, id, name, project } }: { owner: Owner }) {
  switch (scope) {
    case "key":
      return <KeyLink id={id} name={name} />;
    case "project":
      return <ProjectLink id={id} />;
    case "model":
      return <ModelLink id={id} />;
    case "end_user":
      return <EndUserLink id={name} project={project} />;
    default:
      return <LongText text={name} />;
  }
}
