/** The language and the theme of the console, kept in this browser. */
import { type Language, languages, useLanguage } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { themes, useTheme } from "../../ui/theme.ts";

export function Preferences() {
  const { t, language, setLanguage } = useLanguage();
  const [theme, setTheme] = useTheme();
  return (
    <div className="grid gap-3 p-4 sm:grid-cols-2">
      <Field label={t("app.language")}>
        {(ids) => (
          <Select
            {...ids}
            value={language}
            onChange={setLanguage}
            options={Object.entries(languages).map(([code, name]) => ({
              value: code as Language,
              label: name,
            }))}
          />
        )}
      </Field>
      <Field label={t("app.theme")}>
        {(ids) => (
          <Select
            {...ids}
            value={theme}
            onChange={setTheme}
            options={themes.map((each) => ({ value: each, label: t(`app.theme.${each}`) }))}
          />
        )}
      </Field>
    </div>
  );
}
