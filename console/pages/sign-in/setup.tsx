/** The page behind the one-time link of the first start: it creates the first administrator. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { minPasswordLength, type SignInRequest } from "../../../contract/admin.ts";
import { errorText } from "../../api/client.ts";
import { sessionQuery, setUp } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { SignInFrame } from "./frame.tsx";

export function SetupPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  // In the fragment, which browsers do not send: the token is in no access log and no referrer.
  const [token] = useState(() => location.hash.slice(1));
  const { register, handleSubmit, setError, formState } = useForm<SignInRequest>({
    defaultValues: { name: "admin", password: "" },
  });
  const submit = handleSubmit(async (credentials) => {
    try {
      const session = await setUp({ ...credentials, token });
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await navigate({ to: "/" });
    } catch (error) {
      setError("root", { message: errorText(error) });
    }
  });
  return (
    <SignInFrame title={t("setup.title")}>
      <p className="mb-4 text-muted">{t("setup.description")}</p>
      <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
        <Field label={t("signIn.name")}>
          {(ids) => (
            <Input {...ids} {...register("name", { required: true })} autoComplete="username" />
          )}
        </Field>
        <Field
          label={t("signIn.password")}
          hint={t("setup.passwordHint", { count: minPasswordLength })}
          error={formState.errors.root?.message}
        >
          {(ids) => (
            <Input
              {...ids}
              {...register("password", { required: true })}
              type="password"
              autoComplete="new-password"
            />
          )}
        </Field>
        <Button look="primary" type="submit" disabled={formState.isSubmitting}>
          {t("setup.submit")}
        </Button>
      </form>
    </SignInFrame>
  );
}
