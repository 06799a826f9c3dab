/** The columns of the list of API keys. */
import type { ApiKey, KeyUse } from "../../../../contract/admin.ts";
import type { Translate } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { KeyLink, ProjectLink, UserLink } from "../../ui/entity-links.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { LongText } from "../../ui/long-text.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import type { Column } from "../../ui/table.tsx";
import { Day, Time } from "../../ui/time.tsx";

export const keyTones: Readonly<Record<ApiKey["state"], Tone>> = {
  active: "good",
  expiring: "warn",
  expired: "bad",
  revoked: "neutral",
};

/** The use of the last 30 days is the whole use of a key that is not older. */
const isRecent = (createdAt: string | null): boolean =>
  createdAt !== null && Date.now() - Date.parse(createdAt) < 30 * 86_400_000;

/** `useOf`: undefined while it is loaded. */
export const keyColumns = (
  t: Translate,
  useOf: (id: string) => KeyUse | undefined,
): readonly Column<ApiKey>[] => [
  {
    key: "name",
    header: t("keys.name"),
    sortBy: ({ name }) => name,
    cell: ({ id, name, hint, origin }) => (
      <div className="flex max-w-36 flex-col items-start max-sm:max-w-full">
        <span className="flex max-w-full items-center gap-1.5 font-medium">
          <KeyLink id={id} name={name} /> <OriginBadge origin={origin} />
        </span>
        {hint !== null && <code className="font-mono text-xs text-muted">{hint}…</code>}
      </div>
    ),
  },
  {
    key: "state",
    header: t("keys.state"),
    sortBy: ({ state }) => t(`keys.state.${state}`),
    cell: ({ state, expires_at }) => (
      <div className="flex flex-col items-start gap-0.5">
        <Badge tone={keyTones[state]}>{t(`keys.state.${state}`)}</Badge>
        {expires_at !== null && (
          <span className="text-xs text-muted">
            {t("keys.until")} <Time iso={expires_at} />
          </span>
        )}
      </div>
    ),
  },
  {
    key: "project",
    header: t("keys.project"),
    sortBy: ({ project }) => project,
    cell: ({ project, created_by, created_by_id, created_at }) => (
      <div className="flex max-w-28 flex-col max-sm:max-w-full">
        {project !== null && <ProjectLink id={project} />}
        <span
          className="block truncate text-xs text-muted max-sm:whitespace-normal"
          title={`${t("keys.owner")}: ${created_by ?? "–"}`}
        >
          {created_by_id ? (
            <span className="inline-flex max-w-20 align-bottom">
              <UserLink id={created_by_id} name={created_by} />
            </span>
          ) : (
            (created_by ?? "–")
          )}{" "}
          · <Day iso={created_at} />
        </span>
      </div>
    ),
  },
  {
    key: "models",
    header: t("keys.models"),
    cell: ({ models }) => (
      <code className="block max-w-24 font-mono text-xs max-sm:max-w-full">
        <LongText text={models.join(", ")} />
      </code>
    ),
  },
  {
    key: "limits",
    header: t("model.limits"),
    cell: (key) => {
      const text = limitTexts(key, t).join(", ");
      return (
        text !== "" && (
          <div
            title={text}
            className="line-clamp-2 max-w-32 text-xs max-sm:line-clamp-none max-sm:max-w-full"
          >
            {text}
          </div>
        )
      );
    },
  },
  {
    key: "lastUsed",
    header: t("keys.lastUsed"),
    cell: ({ id, created_at }) => {
      const use = useOf(id);
      const unused = isRecent(created_at) ? "keys.neverUsed" : "keys.notUsed";
      return (
        <span aria-busy={!use}>
          {use ? t(use.used_within_days ? `keys.used.${use.used_within_days}` : unused) : "…"}
        </span>
      );
    },
  },
  {
    key: "spend",
    header: t("keys.spend"),
    align: "right",
    cell: ({ id }) => {
      const use = useOf(id);
      return (
        <div className="flex flex-col" aria-busy={!use}>
          {use ? dollars(use.charged) : "…"}
          <span className="text-xs text-muted">
            {use ? t("keys.requests", { count: use.requests }) : "…"}
          </span>
        </div>
      );
    },
  },
];
