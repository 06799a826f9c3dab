/** The menu of a key: edit, rotate, revoke. */
import { useState } from "react";
import type { ApiKey } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { ConfirmDialog } from "../../ui/confirm.tsx";
import { Menu } from "../../ui/menu.tsx";

interface KeyActionsProps {
  readonly apiKey: ApiKey;
  readonly onEdit: () => void;
  readonly onRotate: () => void;
  readonly onRevoked: () => Promise<unknown>;
}

export function KeyActions({ apiKey, onEdit, onRotate, onRevoked }: KeyActionsProps) {
  const t = useT();
  const [isRevoking, setRevoking] = useState(false);
  const { id, name, origin, revoked_at } = apiKey;
  if (origin.source !== "store" || revoked_at !== null) return null;
  return (
    <>
      <Menu
        label={t("users.actions", { name })}
        items={[
          { label: t("action.edit"), onSelect: onEdit },
          { label: t("keys.rotate"), onSelect: onRotate },
          { label: t("keys.revoke"), onSelect: () => setRevoking(true), isDangerous: true },
        ]}
      />
      <ConfirmDialog
        label={t("keys.revoke")}
        title={t("keys.revoke.title", { name })}
        description={t("keys.revoke.description")}
        isOpen={isRevoking}
        onClose={() => setRevoking(false)}
        onConfirm={async () => {
          await call(`/keys/${id}`, { method: "DELETE" });
          await onRevoked();
        }}
      />
    </>
  );
}
