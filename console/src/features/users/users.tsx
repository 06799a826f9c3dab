/** The users of the console: invite, change, disable and delete them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Invite, User } from "../../../../contract/admin.ts";
import { mailAddress } from "../../../../contract/schemas/names.ts";
import { call } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { type Language, type Translate, useLanguage } from "../../i18n/messages.ts";
import { dateTime } from "../../lib/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { UserLink } from "../../ui/entity-links.tsx";
import { Page } from "../../ui/page.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { UserActions } from "./user-actions.tsx";
import { UserForm } from "./user-form.tsx";

const usersQuery = listQuery<User>("/users");

export const userTones: Readonly<Record<User["status"], Tone>> = {
  active: "good",
  invited: "accent",
  disabled: "bad",
};

interface ShownLink {
  readonly user: User;
  readonly invite: Invite;
}

export function UsersPage() {
  const { t, language } = useLanguage();
  const query = useQuery(usersQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<User | "new">();
  const [link, setLink] = useState<ShownLink>();
  const reload = () => queryClient.invalidateQueries({ queryKey: usersQuery.queryKey });
  const showLink = async (user: User): Promise<void> => {
    const body = mailAddress.safeParse(user.name).success ? { email: user.name } : {};
    const invite = await call<Invite>(`/users/${user.id}/invite`, { method: "POST", body });
    setLink({ user, invite });
    await reload();
  };
  const columns = useColumns((user) => (
    <UserActions
      user={user}
      users={query.data?.data ?? []}
      onEdit={() => setEdited(user)}
      onLink={() => showLink(user)}
      onChanged={reload}
    />
  ));
  return (
    <Page
      title={t("nav.users")}
      description={t("users.description")}
      actions={
        <Button look="primary" onClick={() => setEdited("new")}>
          {t("users.invite")}
        </Button>
      }
    >
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <>
              <Table label={t("nav.users")} rows={data} rowKey={({ id }) => id} columns={columns} />
              {data.length < 2 && (
                <Empty title={t("users.none")}>
                  <p className="mb-3">{t("users.noneHint")}</p>
                  <Button onClick={() => setEdited("new")}>{t("users.invite")}</Button>
                </Empty>
              )}
            </>
          )}
        </QueryView>
      </Card>
      <Dialog
        title={edited === "new" ? t("users.invite") : t("users.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && (
          <UserForm
            user={edited === "new" ? undefined : edited}
            onSaved={async (user) => {
              setEdited(undefined);
              if (edited === "new") await showLink(user);
              else await reload();
            }}
          />
        )}
      </Dialog>
      <ShownOnce
        title={t("users.link.title", { name: link?.user.name ?? "" })}
        description={linkText(link?.invite, t, language)}
        text={link?.invite.url}
        onClose={() => setLink(undefined)}
      />
    </Page>
  );
}

function linkText(invite: Invite | undefined, t: Translate, language: Language): string {
  if (!invite) return "";
  const time = dateTime(invite.expires_at, language);
  if (invite.sent_to !== null) return t("users.link.sent", { address: invite.sent_to, time });
  const text = t("users.link.description", { time });
  if (invite.mail_problem === null) return text;
  return `${t("users.link.notSent", { problem: invite.mail_problem })} ${text}`;
}

function useColumns(actions: (user: User) => React.ReactNode): readonly Column<User>[] {
  const { t } = useLanguage();
  return [
    {
      key: "name",
      header: t("users.name"),
      sortBy: ({ name }) => name,
      cell: ({ id, name }) => (
        <span className="font-medium">
          <UserLink id={id} name={name} />
        </span>
      ),
    },
    {
      key: "status",
      header: t("users.status"),
      sortBy: ({ status }) => t(`users.status.${status}`),
      cell: ({ status, two_factor, must_change_password }) => (
        <span className="flex flex-wrap gap-1">
          <Badge tone={userTones[status]}>{t(`users.status.${status}`)}</Badge>
          {two_factor && <Badge>{t("users.twoFactor")}</Badge>}
          {must_change_password && <Badge tone="warn">{t("users.mustChange")}</Badge>}
        </span>
      ),
    },
    {
      key: "role",
      header: t("users.role"),
      sortBy: ({ role }) => t(`role.${role}`),
      cell: ({ role }) => t(`role.${role}`),
    },
    {
      key: "projects",
      header: t("users.projects"),
      cell: ({ projects }) =>
        projects === "all" ? t("users.allProjects") : projects.join(", ") || "–",
    },
    {
      key: "last",
      header: t("users.lastSignIn"),
      sortBy: ({ last_sign_in_at }) => last_sign_in_at,
      cell: ({ last_sign_in_at }) => <Time iso={last_sign_in_at} />,
    },
    { key: "actions", header: t("column.actions"), cell: actions },
  ];
}
