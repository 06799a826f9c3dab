/** An alert rule in words: its bound, links to what it is about, and its own receivers. */
import { Link } from "@tanstack/react-router";
import type { AlertEntity } from "../../../../contract/admin.ts";
import { ModelLink, ProjectLink, UpstreamLink } from "../../ui/entity-links.tsx";
import { useAlertText } from "./alert-text.ts";
import { ruleText } from "./rule-text.ts";

export function AlertRule({ value }: Pick<AlertEntity, "value">) {
  const { t } = useAlertText();
  const { model, project, upstream, receivers } = value;
  return (
    <div className="flex flex-col gap-0.5">
      {ruleText(value, t)}
      <div className="flex flex-wrap gap-x-3 text-xs">
        {model !== undefined && <ModelLink id={model} />}
        {project !== undefined && <ProjectLink id={project} />}
        {upstream !== undefined && <UpstreamLink id={upstream} />}
      </div>
      {receivers && (
        <Link
          to="/webhooks"
          className="text-xs text-muted underline-offset-2 hover:text-accent hover:underline"
        >
          {t("alerts.receiversOf", { names: receivers.join(", ") })}
        </Link>
      )}
    </div>
  );
}
