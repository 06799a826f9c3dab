/** The account of the signed-in user: profile, preferences, password, second factor, sessions and tokens. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Account } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Fact } from "../../ui/fact.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { accountQuery } from "./account-query.ts";
import { PasswordSection } from "./password-section.tsx";
import { Preferences } from "./preferences.tsx";
import { SessionTable } from "./session-table.tsx";
import { TokenTable } from "./token-table.tsx";
import { TwoFactorSection } from "./two-factor-section.tsx";

export function AccountPage() {
  const t = useT();
  const query = useQuery(accountQuery);
  const queryClient = useQueryClient();
  const reload = () => queryClient.invalidateQueries({ queryKey: accountQuery.queryKey });
  return (
    <Page title={t("nav.account")} description={t("account.description")}>
      <QueryView query={query}>
        {(account) => (
          <>
            <div className="grid gap-4 lg:grid-cols-2">
              <Card title={t("account.profile")}>
                <Profile account={account} />
              </Card>
              <Card title={t("account.preferences")}>
                <Preferences />
              </Card>
              <PasswordSection account={account} />
              <TwoFactorSection account={account} onChanged={reload} />
            </div>
            <SessionTable />
            <TokenTable user={account.user} />
          </>
        )}
      </QueryView>
    </Page>
  );
}

function Profile({ account: { user } }: { account: Account }) {
  const t = useT();
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 p-4">
      <Fact name={t("users.name")}>{user.name}</Fact>
      <Fact name={t("users.role")}>
        <Badge>{t(`role.${user.role}`)}</Badge>
      </Fact>
      <Fact name={t("users.projects")}>
        {user.projects === "all" ? t("users.allProjects") : user.projects.join(", ") || "–"}
      </Fact>
    </dl>
  );
}
