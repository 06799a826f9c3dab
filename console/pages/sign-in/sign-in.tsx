import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useForm } from "react-hook-form";
import type { SignInRequest } from "../../../contract/admin.ts";
import { errorText } from "../../api/client.ts";
import { sessionQuery, signIn, signInOptionsQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { SignInFrame } from "./frame.tsx";
import type { SignInSearch } from "./sign-in-search.ts";

export function SignInPage() {
  const t = useT();
  // The type is written out: the type of the route depends on the type of this page.
  const { next, oidc }: SignInSearch = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { data: options } = useQuery(signInOptionsQuery);
  const { register, handleSubmit, setError, formState } = useForm<SignInRequest>({
    defaultValues: { name: "", password: "" },
  });
  const submit = handleSubmit(async (credentials) => {
    try {
      queryClient.setQueryData(sessionQuery.queryKey, await signIn(credentials));
      await navigate({ href: next ?? "/" });
    } catch (error) {
      setError("root", { message: errorText(error) });
    }
  });
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
      <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
        <Field label={t("signIn.name")}>
          {(ids) => (
            <Input {...ids} {...register("name", { required: true })} autoComplete="username" />
          )}
        </Field>
        <Field label={t("signIn.password")} error={formState.errors.root?.message}>
          {(ids) => (
            <Input
              {...ids}
              {...register("password", { required: true })}
              type="password"
              autoComplete="current-password"
            />
          )}
        </Field>
        <Button look="primary" type="submit" disabled={formState.isSubmitting}>
          {t("signIn.submit")}
        </Button>
      </form>
      {options?.oidc && (
        <a
          href="/admin/api/session/oidc"
          className="mt-3 flex h-9 items-center justify-center rounded-md border border-line font-medium hover:bg-sunken"
        >
          {t("signIn.oidc", { name: options.oidc.name })}
        </a>
      )}
    </SignInFrame>
  );
}
