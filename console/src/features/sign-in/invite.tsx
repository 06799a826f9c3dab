/** The page behind an invitation or a link for a new password: the user chooses a password and is signed in. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { InvitePreview } from "../../../../contract/admin.ts";
import { acceptedInviteBody } from "../../../../contract/schemas/users.ts";
import { call, errorText } from "../../api/client.ts";
import { sessionQuery, signIn } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { NewPasswordField } from "../../ui/new-password-field.tsx";
import { useSchemaForm } from "../../ui/schema-form.ts";
import { LinesSkeleton } from "../../ui/skeleton.tsx";
import { SignInFrame } from "./frame.tsx";
import { isCodeMissing } from "./sign-in.tsx";

export function InvitePage() {
  const t = useT();
  // In the fragment, which browsers do not send: the token is in no access log and no referrer.
  const [token] = useState(() => location.hash.slice(1));
  const { data, error } = useQuery({
    queryKey: ["/session/invite", token],
    queryFn: () => call<InvitePreview>("/session/invite", { method: "POST", body: { token } }),
    enabled: token !== "",
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error || token === "") {
    return (
      <SignInFrame title={t("invite.invalid")}>
        <p role="alert" className="text-muted">
          {error ? errorText(error) : t("invite.incomplete")}
        </p>
      </SignInFrame>
    );
  }
  if (!data) return <LinesSkeleton />;
  return (
    <SignInFrame title={t("invite.title", { name: data.name })}>
      <p className="mb-4 text-muted">{t("invite.description")}</p>
      <InviteForm name={data.name} token={token} />
    </SignInFrame>
  );
}

function InviteForm({ name, token }: { name: string; token: string }) {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const form = useSchemaForm(acceptedInviteBody, { token });
  return (
    <Form
      form={form}
      action={t("invite.submit")}
      save={async (body) => {
        await call("/session/invite/accept", { method: "POST", body });
        try {
          const session = await signIn({ name, password: body.password });
          queryClient.setQueryData(sessionQuery.queryKey, session);
          await navigate({ to: "/" });
        } catch (error) {
          // A user with a second factor signs in on the page that asks for the code.
          if (!isCodeMissing(error)) throw error;
          await navigate({ to: "/sign-in" });
        }
      }}
    >
      <NewPasswordField name="password" label={t("signIn.password")} />
    </Form>
  );
}
