/** The label of a field in the upstream form. */
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { Translate } from "../../i18n/messages.ts";

/** With the name in vexel.yaml, which error messages and the documentation use. */
export const fieldLabel = (name: string, t: Translate): string =>
  `${t(`upstreamField.${name.replace(".", "_")}` as MessageKey)} (${name})`;
