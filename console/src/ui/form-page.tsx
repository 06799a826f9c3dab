/** A page with one form, for what administrators change and a dialog is too small for. It asks before changes are lost. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { canSomewhere } from "../../../contract/admin/roles.ts";
import { sessionQuery } from "../api/session.ts";
import { Card } from "./card.tsx";
import { DiscardQuestion } from "./discard-question.tsx";
import { FormFrameContext } from "./form-frame.ts";
import { NotAllowed } from "./not-allowed.tsx";
import { Page } from "./page.tsx";

interface FormPageProps {
  readonly title: string;
  readonly parent: { readonly to: string; readonly title: string };
  /** Opens the page that follows, after the form is saved or canceled. */
  readonly leave: () => Promise<unknown>;
  /** `onSaved`: leaves the page without a question. */
  readonly children: (onSaved: () => Promise<void>) => ReactNode;
}

export function FormPage({ title, parent, leave, children }: FormPageProps) {
  const [hasChanges, setHasChanges] = useState(false);
  const isSaved = useRef(false);
  const mayLoseChanges = (): boolean => hasChanges && !isSaved.current;
  const blocker = useBlocker({
    shouldBlockFn: mayLoseChanges,
    enableBeforeUnload: mayLoseChanges,
    withResolver: true,
  });
  const leaving = useRef(leave);
  leaving.current = leave;
  const frame = useMemo(
    () => ({ report: setHasChanges, cancel: () => void leaving.current() }),
    [],
  );
  const { data: session } = useSuspenseQuery(sessionQuery);
  if (!canSomewhere(session?.user, "administer")) return <NotAllowed />;
  return (
    <Page title={title} parent={parent}>
      <Card className="w-full max-w-3xl">
        <div className="p-5">
          <FormFrameContext value={frame}>
            {children(async () => {
              isSaved.current = true;
              await leave();
            })}
          </FormFrameContext>
        </div>
      </Card>
      <DiscardQuestion
        isOpen={blocker.status === "blocked"}
        onKeep={() => blocker.reset?.()}
        onDiscard={() => blocker.proceed?.()}
      />
    </Page>
  );
}
