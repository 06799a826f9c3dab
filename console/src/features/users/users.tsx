/** The users of the console: create, change and delete them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { User } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { UserForm } from "./user-form.tsx";

const usersQuery = listQuery<User>("/users");

export function UsersPage() {
  const t = useT();
  const query = useQuery(usersQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<User | "new">();
  const reload = () => queryClient.invalidateQueries({ queryKey: usersQuery.queryKey });
  const remove = async ({ id }: User): Promise<void> => {
    await call(`/users/${id}`, { method: "DELETE" });
    await reload();
  };
  return (
    <Page
      title={t("nav.users")}
      description={t("users.description")}
      actions={
        <Button look="primary" onClick={() => setEdited("new")}>
          {t("users.create")}
        </Button>
      }
    >
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <Table
              label={t("nav.users")}
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                {
                  key: "name",
                  header: t("users.name"),
                  sortBy: ({ name }) => name,
                  cell: ({ name }) => name,
                },
                {
                  key: "role",
                  header: t("users.role"),
                  sortBy: ({ role }) => t(`role.${role}`),
                  cell: ({ role }) => <Badge>{t(`role.${role}`)}</Badge>,
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
                {
                  key: "actions",
                  header: t("column.actions"),
                  cell: (user) => (
                    <span className="flex gap-1">
                      <Button size="small" look="quiet" onClick={() => setEdited(user)}>
                        {t("action.edit")}
                      </Button>
                      <ConfirmButton
                        label={t("action.delete")}
                        title={t("users.delete.title", { name: user.name })}
                        description={t("users.delete.description")}
                        onConfirm={() => remove(user)}
                      />
                    </span>
                  ),
                },
              ]}
            />
          )}
        </QueryView>
      </Card>
      <Dialog
        title={edited === "new" ? t("users.create") : t("users.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && (
          <UserForm
            user={edited === "new" ? undefined : edited}
            onSaved={async () => {
              setEdited(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
    </Page>
  );
}
