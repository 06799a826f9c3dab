/** The API reference, from the OpenAPI documents of this gateway. */
import { useT } from "../../i18n/messages.ts";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ApiDocument } from "./api-document.tsx";

const styles = document.querySelector<HTMLMetaElement>('meta[name="reference-styles"]')?.content;

export function ReferencePage() {
  const t = useT();
  return (
    <Page title={t("nav.reference")} description={t("reference.description")}>
      <link rel="stylesheet" href={styles} precedence="default" />
      <Tabs
        label={t("nav.reference")}
        tabs={[
          { name: t("reference.models"), content: <ApiDocument path="/openapi.json" /> },
          { name: t("reference.admin"), content: <ApiDocument path="/admin/api/openapi.json" /> },
        ]}
      />
    </Page>
  );
}
