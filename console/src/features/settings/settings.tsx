/** The settings in force, by group. They cannot be changed here: the gateway reads them at its start. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Setting, settingGroups } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { settingText } from "../../i18n/server-text.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { CodeText } from "./code-text.tsx";

export function SettingsPage() {
  const t = useT();
  const query = useQuery(listQuery<Setting>("/settings"));
  const [search, setSearch] = useState("");
  const [isOnlySet, setOnlySet] = useState(false);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = ({ name, description, value, source }: Setting): boolean => {
    const text = `${name} ${settingText(name, description)} ${value}`.toLowerCase();
    return (!isOnlySet || source !== "default") && words.every((word) => text.includes(word));
  };
  return (
    <Page title={t("nav.settings")} description={t("settings.description")}>
      <div className="flex flex-wrap items-center gap-4">
        <Input
          type="search"
          aria-label={t("settings.search")}
          placeholder={t("settings.search")}
          value={search}
          maxLength={200}
          onChange={(event) => setSearch(event.target.value)}
          className="max-w-sm"
        />
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={isOnlySet}
            onChange={({ target }) => setOnlySet(target.checked)}
          />
          {t("settings.onlySet")}
        </label>
      </div>
      <QueryView query={query}>
        {({ data }) => <SettingGroups settings={data.filter(isShown)} />}
      </QueryView>
    </Page>
  );
}

function SettingGroups({ settings }: { settings: readonly Setting[] }) {
  const t = useT();
  if (settings.length === 0) {
    return (
      <Card>
        <Empty title={t("settings.noMatch")} />
      </Card>
    );
  }
  return settingGroups.map((group) => {
    const ofGroup = settings.filter((setting) => setting.group === group);
    if (ofGroup.length === 0) return null;
    return (
      <Card key={group} title={t(`settings.group.${group}`)}>
        <ul>
          {ofGroup.map((setting) => (
            <li
              key={setting.name}
              className="grid gap-x-6 gap-y-1 border-t border-line px-4 py-2.5 first:border-t-0 sm:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]"
            >
              <div className="min-w-0">
                <code className="font-mono text-xs font-medium break-all">{setting.name}</code>
                <p className="text-xs text-muted">
                  <CodeText text={settingText(setting.name, setting.description)} />
                </p>
              </div>
              <SettingValue setting={setting} />
            </li>
          ))}
        </ul>
      </Card>
    );
  });
}

function SettingValue({ setting: { value, source } }: { setting: Setting }) {
  const t = useT();
  return (
    <div className="flex min-w-0 flex-wrap items-start justify-between gap-2">
      {value === "" ? (
        <span className="text-muted">{t("settings.notSet")}</span>
      ) : (
        <code className="min-w-0 font-mono text-xs break-all">{value}</code>
      )}
      <Badge tone={source === "default" ? "neutral" : "accent"}>
        {t(`settings.source.${source}`)}
      </Badge>
    </div>
  );
}
