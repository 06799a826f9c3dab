/** The end of a sign-in with OpenID Connect in a window of its own: tells the page that opened it, and closes itself. */
import { useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { announceSession } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { SignInFrame } from "./frame.tsx";
import type { SignInSearch } from "./sign-in-search.ts";

export function SignedInPage() {
  const t = useT();
  // The type is written out: the type of the route depends on the type of this page.
  const { oidc }: SignInSearch = useSearch({ from: "/sign-in-done" });
  useEffect(() => {
    if (oidc) return;
    announceSession();
    window.close();
  }, [oidc]);
  return (
    <SignInFrame title={t("signIn.title")}>
      <p role={oidc ? "alert" : "status"} className={oidc ? "text-bad" : "text-muted"}>
        {t(oidc ? `signIn.oidc.${oidc}` : "signIn.done")}
      </p>
    </SignInFrame>
  );
}
