/** The columns of the list of API keys. */
import type { ApiKey, KeyUse } from "../../../../contract/admin.ts";
import type { Translate } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { LongText } from "../../ui/long-text.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { ProjectLink } from "../../ui/project-link.tsx";
import type { Column } from "../../ui/table.tsx";
import { Day, Time } from "../../ui/time.tsx";

const tones: Readonly<Record<ApiKey["state"], Tone>> = {
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
    cell: ({ name, hint, origin }) => (
      <div className="flex flex-col items-start">
        <span className="font-medium">
          <LongText text={name} />
        </span>
        <OriginBadge origin={origin} />
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
        <Badge tone={tones[state]}>{t(`keys.state.${state}`)}</Badge>
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
    cell: ({ project }) => project !== null && <ProjectLink project={project} />,
  },
  {
    key: "owner",
    header: t("keys.owner"),
    sortBy: ({ created_by }) => created_by,
    cell: ({ created_by, created_at }) => (
      <div className="flex flex-col">
        <LongText text={created_by ?? "–"} />
        <span className="text-xs text-muted">
          <Day iso={created_at} />
        </span>
      </div>
    ),
  },
  {
    key: "models",
    header: t("keys.models"),
    cell: ({ models }) => (
      <code className="font-mono text-xs">
        <LongText text={models.join(", ")} />
      </code>
    ),
  },
  {
    key: "limits",
    header: t("model.limits"),
    cell: (key) => {
      const texts = limitTexts(key, t);
      return texts.length > 0 && <LimitTexts texts={texts} />;
    },
  },
  {
    key: "lastUsed",
    header: t("keys.lastUsed"),
    cell: ({ id, created_at }) => {
      const use = useOf(id);
      const unused = isRecent(created_at) ? "keys.neverUsed" : "keys.notUsed";
      return (
        use && (
          <span className="whitespace-nowrap">
            {t(use.used_within_days ? `keys.used.${use.used_within_days}` : unused)}
          </span>
        )
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
        use && (
          <div className="flex flex-col">
            {dollars(use.charged)}
            <span className="text-xs text-muted">
              {t("keys.requests", { count: use.requests })}
            </span>
          </div>
        )
      );
    },
  },
];

const LimitTexts = ({ texts }: { texts: readonly string[] }) => (
  <ul className="text-xs">
    {texts.map((text) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);
