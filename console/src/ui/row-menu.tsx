/** The actions of a row, in one menu at its right. An action that cannot be undone asks first. */
import { useState } from "react";
import { useT } from "../i18n/messages.ts";
import { ConfirmDialog } from "./confirm.tsx";
import { Menu, type MenuItem } from "./menu.tsx";

export interface RowAction extends Omit<MenuItem, "onSelect"> {
  /** `isForced`: the user has seen what refers to the entity. */
  readonly onSelect?: (isForced?: boolean) => unknown;
  /** The question. */
  readonly confirm?: { readonly title: string; readonly description: string };
}

interface RowMenuProps {
  /** What the actions apply to. */
  readonly name: string;
  /** `false`: not for this row. */
  readonly actions: readonly (RowAction | false)[];
}

export function RowMenu({ name, actions }: RowMenuProps) {
  const t = useT();
  const [asked, setAsked] = useState<RowAction>();
  const shown = actions.filter((action) => action !== false);
  if (shown.length === 0) return null;
  return (
    <>
      <Menu
        label={t("users.actions", { name })}
        items={shown.map((action) => ({
          ...action,
          onSelect: () => (action.confirm ? setAsked(action) : void action.onSelect?.()),
        }))}
      />
      {asked?.confirm && (
        <ConfirmDialog
          {...asked.confirm}
          label={asked.label}
          isOpen
          onClose={() => setAsked(undefined)}
          onConfirm={async (isForced) => asked.onSelect?.(isForced)}
        />
      )}
    </>
  );
}
