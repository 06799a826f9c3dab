/** The confirmation dialog of actions that cannot be undone. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ApiError, errorText } from "../api/client.ts";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { showToast } from "./toast.ts";

interface ConfirmProps {
  readonly label: string;
  readonly title: string;
  readonly description: string;
  /** `isForced`: the user has seen what refers to the entity. */
  readonly onConfirm: (isForced: boolean) => Promise<unknown>;
}

export function ConfirmButton({ label, title, description, onConfirm }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="small" look="quiet" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <ConfirmDialog
        label={label}
        title={title}
        description={description}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onConfirm={onConfirm}
      />
    </>
  );
}

interface ConfirmDialogProps extends ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Between the question and the buttons. */
  readonly children?: ReactNode;
}

/** Without a button, for an action of a menu. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { label, title, description, isOpen, onClose, onConfirm, children } = props;
  const t = useT();
  const [error, setError] = useState<unknown>();
  const close = (): void => {
    setError(undefined);
    onClose();
  };
  const confirm = async (isForced: boolean): Promise<void> => {
    try {
      await onConfirm(isForced);
      showToast(t("toast.done"));
      close();
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <Dialog title={title} description={description} isOpen={isOpen} onClose={close}>
      {children}
      {error !== undefined && (
        <div role="alert" className="mb-3 text-bad">
          <p>{errorText(error)}</p>
          {error instanceof ApiError && <UsedBy users={error.usedBy} />}
        </div>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={close}>{t("action.cancel")}</Button>
        {isReferenced(error) ? (
          <Button look="danger" onClick={() => confirm(true)}>
            {t("confirm.anyway")}
          </Button>
        ) : (
          <Button look="danger" onClick={() => confirm(false)}>
            {label}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

/** What refers to the entity does not prevent its deletion. */
const isReferenced = (error: unknown): boolean =>
  error instanceof ApiError && error.i18n?.id === "is_referenced";

const maxListed = 20;
const pages = { key: "/keys", alert: "/alerts" } as const;

/** What refers to an entity that cannot be deleted, with links. */
function UsedBy({ users }: { users: ApiError["usedBy"] }) {
  const t = useT();
  if (users.length === 0) return null;
  return (
    <>
      <p className="mt-2 text-ink">{t("confirm.usedBy", { count: users.length })}</p>
      <ul className="mt-1 max-h-48 overflow-y-auto text-ink">
        {users.slice(0, maxListed).map(({ kind, id, name }) => (
          <li key={`${kind} ${id}`}>
            {kind === "model" ? (
              <Link to="/model/$" params={{ _splat: id }} className="text-accent hover:underline">
                {name}
              </Link>
            ) : (
              <Link to={pages[kind]} className="text-accent hover:underline">
                {name}
              </Link>
            )}
          </li>
        ))}
        {users.length > maxListed && (
          <li className="text-muted">{t("confirm.more", { count: users.length - maxListed })}</li>
        )}
      </ul>
    </>
  );
}
