import { Link } from "@tanstack/react-router";
import { useT } from "../i18n/messages.ts";
import { Page } from "../ui/page.tsx";

export function NotFound() {
  const t = useT();
  return (
    <Page title={t("app.notFound")}>
      <Link to="/" className="text-accent underline">
        {t("app.notFound.back")}
      </Link>
    </Page>
  );
}
