/** The page of a user who must change the password before anything else. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { PasswordForm } from "../account/password-section.tsx";
import { SignInFrame } from "./frame.tsx";

export function NewPasswordPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  return (
    <SignInFrame title={t("newPassword.title")}>
      <p className="mb-4 text-muted">{t("newPassword.description")}</p>
      <PasswordForm
        onSaved={async () => {
          await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });
          await navigate({ to: "/" });
        }}
      />
    </SignInFrame>
  );
}
