/** In place of a page that the role of the user does not open. */
import { useT } from "../i18n/messages.ts";
import { Page } from "./page.tsx";

export function NotAllowed() {
  const t = useT();
  return (
    <Page title={t("state.notAllowed")}>
      <p>{t("state.notAllowed.hint")}</p>
    </Page>
  );
}
