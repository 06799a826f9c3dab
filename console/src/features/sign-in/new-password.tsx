/** The page of a user who must change the password before anything else. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { hasSessionEnded, sessionQuery, subscribeToSession } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { PasswordForm } from "../account/password-section.tsx";
import { SignInFrame } from "./frame.tsx";
import { SignInDialog } from "./sign-in-dialog.tsx";

export function NewPasswordPage() {
  const t = useT();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const hasEnded = useSyncExternalStore(subscribeToSession, hasSessionEnded);
  return (
    <SignInFrame title={t("newPassword.title")}>
      <p className="mb-4 text-muted">{t("newPassword.description")}</p>
      <PasswordForm
        onSaved={async () => {
          await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });
          await navigate({ to: "/" });
        }}
      />
      {hasEnded && <SignInDialog />}
    </SignInFrame>
  );
}
