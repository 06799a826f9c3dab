/** The sign-in page: with a password, or with OpenID Connect if it is configured. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useForm, useFormContext } from "react-hook-form";
import type { z } from "zod";
import type { Session } from "../../../../contract/admin.ts";
import type { signInBody } from "../../../../contract/schemas/users.ts";
import { ApiError } from "../../api/client.ts";
import { sessionQuery, signIn, signInOptionsQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Form } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { SignInFrame } from "./frame.tsx";
import type { SignInSearch } from "./sign-in-search.ts";

export function SignInPage() {
  const t = useT();
  // The type is written out: the type of the route depends on the type of this page.
  const { next, oidc }: SignInSearch = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { data: options } = useQuery(signInOptionsQuery);
  return (
    <SignInFrame title={t("signIn.title")}>
      {options?.needs_setup && (
        <p className="mb-4 rounded-md bg-warn-soft p-3 text-warn">{t("signIn.noUsers")}</p>
      )}
      {oidc && (
        <p role="alert" className="mb-4 rounded-md bg-bad-soft p-3 text-bad">
          {t(`signIn.oidc.${oidc}`)}
        </p>
      )}
      <SignInForm
        onSignedIn={async (session) => {
          queryClient.setQueryData(sessionQuery.queryKey, session);
          await navigate({ href: next ?? "/" });
        }}
      />
      {options?.oidc && (
        <a href="/admin/api/session/oidc" className={oidcLinkStyle}>
          {t("signIn.oidc", { name: options.oidc.name })}
        </a>
      )}
    </SignInFrame>
  );
}

export const oidcLinkStyle =
  "mt-3 flex h-9 w-full items-center justify-center rounded-md border border-line font-medium hover:bg-sunken";

/** `name`: of the user whose session has ended. */
export function SignInForm({
  name = "",
  onSignedIn,
}: {
  name?: string;
  onSignedIn: (session: Session) => Promise<unknown>;
}) {
  const t = useT();
  // The server alone validates it: the library of the schemas would be a fifth of the first load.
  const form = useForm<z.input<typeof signInBody>>({ defaultValues: { name } });
  const [needsCode, setNeedsCode] = useState(false);
  return (
    <Form
      form={form}
      action={t("signIn.submit")}
      toast={false}
      save={async (body) => {
        try {
          await onSignedIn(await signIn(body));
        } catch (error) {
          if (!isCodeMissing(error)) throw error;
          setNeedsCode(true);
        }
      }}
    >
      <TextField name="name" label={t("signIn.name")} autoComplete="username" read={String} />
      <TextField
        name="password"
        label={t("signIn.password")}
        type="password"
        autoComplete="current-password"
        read={String}
      />
      {needsCode && <CodeField />}
    </Form>
  );
}

export const isCodeMissing = (error: unknown): boolean =>
  error instanceof ApiError && error.code === "second_factor_required";

/** Appears after the password was accepted, and takes the focus. */
function CodeField() {
  const t = useT();
  const { setFocus } = useFormContext();
  useEffect(() => setFocus("code"), [setFocus]);
  return (
    <TextField
      name="code"
      label={t("signIn.code")}
      hint={t("signIn.codeHint")}
      autoComplete="one-time-code"
    />
  );
}
