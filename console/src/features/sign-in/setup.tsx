/** The page behind the one-time link of the first start: it creates the first administrator. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { setupBody } from "../../../../contract/schemas/users.ts";
import { sessionQuery, setUp } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { NewPasswordField } from "../../ui/new-password-field.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { SignInFrame } from "./frame.tsx";

export function SetupPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  // In the fragment, which browsers do not send: the token is in no access log and no referrer.
  const [token] = useState(() => location.hash.slice(1));
  const form = useSchemaForm(setupBody, { name: "admin", token });
  return (
    <SignInFrame title={t("setup.title")}>
      <p className="mb-4 text-muted">{t("setup.description")}</p>
      <Form
        form={form}
        action={t("setup.submit")}
        save={async (body) => {
          queryClient.setQueryData(sessionQuery.queryKey, await setUp(body));
          await navigate({ to: "/" });
        }}
      >
        <TextField name="name" label={t("signIn.name")} autoComplete="username" />
        <NewPasswordField name="password" label={t("signIn.password")} />
      </Form>
    </SignInFrame>
  );
}
