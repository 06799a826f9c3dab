/** The menu of a user: edit, a new link, disable, a new password, the second factor, delete. */
import { useState } from "react";
import type { User } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { ConfirmDialog } from "../../ui/confirm.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { showToast } from "../../ui/toast.ts";
import { CreatedKeys } from "./created-keys.tsx";

type Question = "disable" | "requirePassword" | "resetTwoFactor" | "delete";

const changes = {
  disable: { disabled: true },
  requirePassword: { must_change_password: true },
  resetTwoFactor: { two_factor: false },
} as const;

interface UserActionsProps {
  readonly user: User;
  readonly users: readonly User[];
  readonly onEdit: () => void;
  readonly onLink: () => Promise<unknown>;
  readonly onChanged: () => Promise<unknown>;
}

export function UserActions({ user, users, onEdit, onLink, onChanged }: UserActionsProps) {
  const t = useT();
  const [asked, setAsked] = useState<Question>();
  const path = `/users/${user.id}`;
  const patch = async (body: object): Promise<void> => {
    await call(path, { method: "PATCH", body });
    await onChanged();
  };
  const confirm = async (question: Question): Promise<void> => {
    if (question !== "delete") return patch(changes[question]);
    await call(path, { method: "DELETE" });
    await onChanged();
  };
  const enable = async (): Promise<void> => {
    await patch({ disabled: false });
    showToast(t("toast.done"));
  };
  const isDisabled = user.status === "disabled";
  const hasPassword = user.sign_in === "password";
  const items: readonly (MenuItem | false)[] = [
    { label: t("action.edit"), onSelect: onEdit },
    hasPassword && !isDisabled && { label: t("users.newLink"), onSelect: () => void onLink() },
    hasPassword &&
      user.status === "active" && {
        label: t("users.action.requirePassword"),
        onSelect: () => setAsked("requirePassword"),
      },
    user.two_factor && {
      label: t("users.action.resetTwoFactor"),
      onSelect: () => setAsked("resetTwoFactor"),
    },
    isDisabled
      ? { label: t("users.enable"), onSelect: () => void enable() }
      : {
          label: t("users.action.disable"),
          onSelect: () => setAsked("disable"),
          isDangerous: true,
        },
    { label: t("action.delete"), onSelect: () => setAsked("delete"), isDangerous: true },
  ];
  return (
    <>
      <Menu
        label={t("users.actions", { name: user.name })}
        items={items.filter((item) => item !== false)}
      />
      {asked && (
        <ConfirmDialog
          label={asked === "delete" ? t("action.delete") : t(`users.action.${asked}`)}
          title={t(`users.title.${asked}`, { name: user.name })}
          description={t(`users.explain.${asked}`)}
          isOpen
          onClose={() => setAsked(undefined)}
          onConfirm={() => confirm(asked)}
        >
          {(asked === "disable" || asked === "delete") && <CreatedKeys user={user} users={users} />}
        </ConfirmDialog>
      )}
    </>
  );
}
