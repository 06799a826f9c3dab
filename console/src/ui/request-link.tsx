/** A link to the record of a request, in a new tab: what the page shows would be lost. */
import { Link } from "@tanstack/react-router";
import { useT } from "../i18n/messages.ts";

export function RequestLink({ id }: { id: string }) {
  const t = useT();
  return (
    <Link to="/requests/$id" params={{ id }} target="_blank" className="self-start underline">
      {t("playground.openRequest")}
    </Link>
  );
}
