/** The result of a test sign-in with OpenID Connect. */
import { useQuery } from "@tanstack/react-query";
import type { OidcTest } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Fact } from "../../ui/fact.tsx";
import { QueryView } from "../../ui/states.tsx";

export function OidcTestResult({ result }: { result: string }) {
  const t = useT();
  const query = useQuery({
    queryKey: ["/oidc/test", result],
    queryFn: () => call<OidcTest>("/oidc/test", { method: "POST", body: { result } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Card title={t("oidc.test")}>
      <QueryView query={query}>
        {({ problem, i18n, email, values, role, projects, is_new }) => (
          <div className="flex flex-col gap-3 p-4">
            <div>
              <Badge tone={problem === null ? "good" : "bad"}>
                {t(problem === null ? "oidc.test.ok" : "oidc.test.refused")}
              </Badge>
              {problem !== null && <p className="mt-1 text-bad">{serverText(problem, i18n)}</p>}
            </div>
            <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[14rem_1fr]">
              <Fact name={t("oidc.test.email")}>{email ?? "–"}</Fact>
              <Fact name={t("oidc.test.values")}>{values.join(", ") || "–"}</Fact>
              <Fact name={t("users.role")}>{role === null ? "–" : t(`role.${role}`)}</Fact>
              <Fact name={t("users.projects")}>
                {projects === "all" ? t("users.allProjects") : projects?.join(", ") || "–"}
              </Fact>
            </dl>
            {is_new && <p className="text-muted">{t("oidc.test.new")}</p>}
          </div>
        )}
      </QueryView>
    </Card>
  );
}
