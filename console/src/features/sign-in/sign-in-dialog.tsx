/** Signs in over the page whose session has ended, so that nothing on the page is lost. */
import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { sessionQuery, signInOptionsQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { oidcLinkStyle, SignInForm } from "./sign-in.tsx";

export function SignInDialog() {
  const t = useT();
  const queryClient = useQueryClient();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { data: options } = useQuery(signInOptionsQuery);
  return (
    <Dialog title={t("signIn.ended")} description={t("signIn.ended.hint")} isOpen>
      <SignInForm
        {...(session && { name: session.user.name })}
        onSignedIn={async (begun) => {
          queryClient.setQueryData(sessionQuery.queryKey, begun);
          await queryClient.invalidateQueries();
        }}
      />
      {options?.oidc && (
        // The page learns of the new session by a message: the window of another site has no opener.
        <button
          type="button"
          className={oidcLinkStyle}
          onClick={() =>
            window.open(
              "/admin/api/session/oidc?window=true",
              "_blank",
              "popup,width=500,height=700",
            )
          }
        >
          {t("signIn.oidc", { name: options.oidc.name })}
        </button>
      )}
    </Dialog>
  );
}
