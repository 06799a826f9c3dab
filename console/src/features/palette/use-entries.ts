/** What the command palette finds, in groups. The server searches the keys: there may be many. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { type ApiKey, canSomewhere } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { sessionQuery } from "../../api/session.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { useTheme } from "../../ui/theme.ts";
import { modelsQuery } from "../models/models-query.ts";
import { projectsQuery } from "../projects/projects-query.ts";

export interface Entry {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
  /** A page. If absent, `run` is called. */
  readonly to?: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly run?: () => unknown;
}

interface EntryGroup {
  readonly label: string;
  readonly entries: readonly Entry[];
}

/** `pages`: those of the menu, as the user sees it. */
export function useEntries(text: string, pages: readonly Entry[]): readonly EntryGroup[] {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const isDeveloper = canSomewhere(session?.user, "develop");
  const search = useDeferredValue(text.trim());
  const models = useQuery({ ...modelsQuery, staleTime: 60_000 }).data?.data ?? [];
  const projects = useQuery({ ...projectsQuery, staleTime: 60_000 }).data?.data ?? [];
  const keys = useQuery({
    ...listQuery<ApiKey>("/keys", { search, limit: 20 }),
    enabled: isDeveloper && search !== "",
  });
  return [
    { label: t("palette.requests"), entries: requestEntries(text.trim(), t) },
    { label: t("palette.pages"), entries: pages },
    { label: t("palette.actions"), entries: useActions() },
    {
      label: t("nav.models"),
      entries: models.map(({ id }) => ({ value: id, label: id, to: `/model/${pathOf(id)}` })),
    },
    {
      label: t("nav.projects"),
      entries: projects.map(({ id }) => ({
        value: id,
        label: id,
        to: `/projects/${encodeURIComponent(id)}`,
      })),
    },
    {
      label: t("nav.keys"),
      entries: (keys.data?.data ?? []).map(({ id, name, hint, project }) => ({
        value: `${id} ${hint ?? ""}`,
        label: name,
        ...(project !== null && { hint: project }),
        to: `/keys/${encodeURIComponent(id)}`,
      })),
    },
  ];
}

/** Ids of models may contain slashes. */
const pathOf = (id: string): string => id.split("/").map(encodeURIComponent).join("/");

const requestEntries = (text: string, t: Translate): readonly Entry[] =>
  /^req_\w{8,100}$/.test(text)
    ? [{ value: text, label: t("palette.openRequest", { id: text }), to: `/requests/${text}` }]
    : [];

function useActions(): readonly Entry[] {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const [, setTheme] = useTheme();
  const isAdministrator = canSomewhere(session?.user, "administer");
  const live = { live: "true" };
  const failed = { range: "day", status: "failed" };
  return [
    { value: "live", label: t("palette.live"), to: "/requests", search: live },
    { value: "failed", label: t("palette.failed"), to: "/requests", search: failed },
    ...(isAdministrator
      ? [
          { value: "new model", label: t("models.create"), to: "/models/new" },
          { value: "new upstream", label: t("upstreams.create"), to: "/upstreams/new" },
        ]
      : []),
    { value: "dark", label: t("palette.dark"), run: () => setTheme("dark") },
    { value: "light", label: t("palette.light"), run: () => setTheme("light") },
    { value: "account", label: t("nav.account"), to: "/account" },
  ];
}
