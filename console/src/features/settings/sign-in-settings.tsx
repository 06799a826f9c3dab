/** Sign-in with OpenID Connect: what is configured, what is missing, and a test sign-in. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { OidcStatus } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { buttonStyle } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Fact } from "../../ui/fact.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { OidcTestResult } from "./oidc-test-result.tsx";

const oidcQuery = queryOptions({
  queryKey: ["/oidc"],
  queryFn: ({ signal }) => call<OidcStatus>("/oidc", { signal }),
});

export function SignInSettingsPage() {
  const t = useT();
  const query = useQuery(oidcQuery);
  // The issuer sends the browser back with the encrypted result in the fragment.
  const [result] = useState(() => location.hash.slice(1));
  const isConfigured = query.data?.configured;
  return (
    <Page
      title={t("nav.signIn")}
      description={t("oidc.description")}
      actions={
        isConfigured && (
          <a
            href="/admin/api/session/oidc?test=true"
            title={t("oidc.test.hint")}
            className={buttonStyle({ look: "primary" })}
          >
            {t("oidc.test")}
          </a>
        )
      }
    >
      {result !== "" && <OidcTestResult result={result} />}
      <QueryView query={query}>{(status) => <Status status={status} />}</QueryView>
    </Page>
  );
}

function Status({ status }: { status: OidcStatus }) {
  const t = useT();
  const { configured, missing, redirect_uri, sign_out_uri, issuer_problem: problem } = status;
  return (
    <>
      {configured ? (
        <Card
          title={t("oidc.settings")}
          actions={
            <Badge tone={problem === null ? "good" : "bad"}>
              {t(problem === null ? "oidc.ready" : "oidc.failed")}
            </Badge>
          }
        >
          {problem !== null && <p className="border-b border-line px-4 py-2 text-bad">{problem}</p>}
          <Configured configured={configured} />
        </Card>
      ) : (
        <Card>
          <Empty title={t("oidc.off")}>
            <p className="mb-2">{t("oidc.offHint")}</p>
            {missing.map((name) => (
              <code key={name} className="block font-mono text-xs text-ink">
                {name}
              </code>
            ))}
          </Empty>
        </Card>
      )}
      <Card title={t("oidc.register")}>
        <dl className="grid gap-x-6 gap-y-3 p-4 sm:grid-cols-[14rem_1fr]">
          <Fact name={t("oidc.redirectUri")}>
            <Copied text={redirect_uri} />
          </Fact>
          <Fact name={t("oidc.signOutUri")}>
            <Copied text={sign_out_uri} />
          </Fact>
        </dl>
      </Card>
    </>
  );
}

function Configured({ configured }: { configured: NonNullable<OidcStatus["configured"]> }) {
  const t = useT();
  const { roles, projects, default_role: defaultRole } = configured;
  return (
    <dl className="grid gap-x-6 gap-y-3 p-4 sm:grid-cols-[14rem_1fr]">
      <Fact name={t("oidc.issuer")}>{configured.issuer}</Fact>
      <Fact name={t("oidc.clientId")}>{configured.client_id}</Fact>
      <Fact name={t("oidc.clientSecret")}>
        {t(configured.has_client_secret ? "oidc.secretSet" : "oidc.publicClient")}
      </Fact>
      <Fact name={t("oidc.scopes")}>{configured.scopes}</Fact>
      <Fact name={t("oidc.domains")}>
        {configured.domains === null ? t("oidc.anyDomain") : configured.domains.join(", ")}
      </Fact>
      <Fact name={t("oidc.claim")}>{configured.claim}</Fact>
      <Fact name={t("oidc.required")}>{configured.required.join(", ") || "–"}</Fact>
      <Fact name={t("oidc.roles")}>
        {roles.map(({ value, role }) => `${value} → ${t(`role.${role}`)}`).join(", ") || "–"}
      </Fact>
      <Fact name={t("oidc.defaultRole")}>
        {defaultRole === null ? t("oidc.noRole") : t(`role.${defaultRole}`)}
      </Fact>
      <Fact name={t("oidc.projects")}>
        {projects
          .map(({ value, projects: names }) => `${value} → ${names.join(", ")}`)
          .join("; ") || "–"}
      </Fact>
    </dl>
  );
}

const Copied = ({ text }: { text: string }) => (
  <span className="flex flex-wrap items-center gap-2">
    <code className="min-w-0 font-mono text-xs break-all">{text}</code>
    <CopyButton text={text} />
  </span>
);
