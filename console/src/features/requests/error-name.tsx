/** An error in words. */
import { useLanguage } from "../../i18n/messages.ts";
import { LongText } from "../../ui/long-text.tsx";
import { errorName } from "./error-names.ts";

/** With the kind in its title. */
export function ErrorName({ kind }: { kind: string }) {
  const { language } = useLanguage();
  return <LongText text={errorName(kind, language)} title={kind} />;
}
