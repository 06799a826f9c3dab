/** The field in which a user chooses a password. It can be shown, because it is typed once. */
import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { minPasswordLength } from "../../../contract/admin.ts";
import { useT } from "../i18n/messages.ts";
import { TextField } from "./form-fields.tsx";
import { IconButton } from "./icon-button.tsx";

export function NewPasswordField({ name, label }: { name: string; label: string }) {
  const t = useT();
  const [isShown, setIsShown] = useState(false);
  return (
    <TextField
      name={name}
      label={label}
      hint={t("setup.passwordHint", { count: minPasswordLength })}
      type={isShown ? "text" : "password"}
      autoComplete="new-password"
      spellCheck={false}
      read={String}
    >
      <IconButton
        icon={isShown ? EyeOff : Eye}
        label={t(isShown ? "newPassword.hide" : "newPassword.show")}
        onClick={() => setIsShown(!isShown)}
      />
    </TextField>
  );
}
