/** The signed-in user's own tokens of the admin API: create, shown once, revoke. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Account, AdminToken, CreatedAdminToken } from "../../../../contract/admin.ts";
import { newTokenBody } from "../../../../contract/schemas/users.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { accountTokensQuery } from "./account-query.ts";

const validDays = [7, 30, 90, 365];

export function TokenTable({ user }: Pick<Account, "user">) {
  const t = useT();
  const query = useQuery(accountTokensQuery);
  const queryClient = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedAdminToken>();
  const reload = () => queryClient.invalidateQueries({ queryKey: accountTokensQuery.queryKey });
  const revoke = async ({ id }: AdminToken): Promise<void> => {
    await call(`/account/tokens/${id}`, { method: "DELETE" });
    await reload();
  };
  return (
    <Card
      title={t("account.tokens")}
      actions={
        <Button size="small" onClick={() => setCreating(true)}>
          {t("account.tokens.create")}
        </Button>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("account.tokens.none")}>{t("account.tokens.noneHint")}</Empty>
          ) : (
            <Table
              label={t("account.tokens")}
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                {
                  key: "name",
                  header: t("account.tokens.name"),
                  cell: ({ name, hint }) => (
                    <span className="flex flex-col">
                      <span className="font-medium">{name}</span>
                      <code className="font-mono text-xs text-muted">{hint}…</code>
                    </span>
                  ),
                },
                {
                  key: "expires",
                  header: t("account.tokens.expires"),
                  cell: ({ expires_at }) => <Time iso={expires_at} />,
                },
                {
                  key: "used",
                  header: t("account.tokens.used"),
                  cell: ({ last_used_at }) => <Time iso={last_used_at} />,
                },
                {
                  key: "actions",
                  header: t("column.actions"),
                  cell: (token) => (
                    <ConfirmButton
                      label={t("account.tokens.revoke")}
                      title={t("account.tokens.revoke.title", { name: token.name })}
                      description={t("account.tokens.revoke.description")}
                      onConfirm={() => revoke(token)}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      <Dialog
        title={t("account.tokens.create")}
        isOpen={isCreating}
        onClose={() => setCreating(false)}
      >
        <TokenForm
          hasPassword={user.sign_in === "password"}
          onCreated={async (token) => {
            setCreating(false);
            setCreated(token);
            await reload();
          }}
        />
      </Dialog>
      <ShownOnce
        title={t("account.tokens.created")}
        description={t("account.tokens.createdHint")}
        text={created?.token}
        onClose={() => setCreated(undefined)}
      />
    </Card>
  );
}

interface TokenFormProps {
  /** A user of OpenID Connect has none. */
  readonly hasPassword: boolean;
  readonly onCreated: (token: CreatedAdminToken) => unknown;
}

function TokenForm({ hasPassword, onCreated }: TokenFormProps) {
  const t = useT();
  const form = useSchemaForm(newTokenBody, { expires_in_days: 30 });
  return (
    <Form
      form={form}
      action={t("account.tokens.create")}
      toast={false}
      save={async (body) =>
        onCreated(await call<CreatedAdminToken>("/account/tokens", { method: "POST", body }))
      }
    >
      <TextField name="name" label={t("account.tokens.name")} required autoComplete="off" />
      <SelectField
        name="expires_in_days"
        label={t("account.tokens.days")}
        read={Number}
        options={validDays.map((days) => ({
          value: String(days),
          label: t("account.tokens.dayCount", { count: days }),
        }))}
      />
      {hasPassword && (
        <TextField
          name="password"
          label={t("account.twoFactor.confirm")}
          type="password"
          autoComplete="current-password"
          required
          read={String}
        />
      )}
    </Form>
  );
}
