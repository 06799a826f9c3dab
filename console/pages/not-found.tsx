import { Link } from "@tanstack/react-router";
import { useT } from "../i18n/messages.ts";
import { Empty } from "../ui/states.tsx";

export function NotFound() {
  const t = useT();
  return (
    <Empty title={t("app.notFound")}>
      <Link to="/" className="text-accent underline">
        {t("app.notFound.back")}
      </Link>
    </Empty>
  );
}
