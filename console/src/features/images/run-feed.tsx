/** The runs of this page, the newest last: a result stays where it was when the next one is generated. */
import { RotateCcw } from "lucide-react";
import { useEffect, useRef } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import type { ImageActions } from "./image-actions.tsx";
import { RunCard } from "./run-card.tsx";
import type { ImageClick, ImageSettings } from "./use-image-runs.ts";

interface RunFeedProps {
  readonly clicks: readonly ImageClick[];
  readonly actions: ImageActions;
  readonly onReuse: (settings: ImageSettings) => void;
}

export function RunFeed({ clicks, actions, onReuse }: RunFeedProps) {
  const t = useT();
  const newest = useRef<HTMLElement>(null);
  const newestId = clicks.at(-1)?.id;
  useEffect(() => {
    if (newestId !== undefined) newest.current?.scrollIntoView({ block: "start" });
  }, [newestId]);
  return (
    <div className="flex flex-col gap-8">
      {clicks.map(({ id, settings, runs }) => (
        <section
          key={id}
          ref={id === newestId ? newest : undefined}
          aria-label={t("images.run", { models: settings.models.join(", ") })}
          className="flex scroll-mt-16 flex-col gap-3"
        >
          <header className="flex items-start justify-between gap-3">
            <p className="line-clamp-3 min-w-0 font-medium" title={settings.prompt}>
              {settings.prompt}
            </p>
            <Button size="small" className="shrink-0" onClick={() => onReuse(settings)}>
              <RotateCcw size={14} />
              {t("images.useAgain")}
            </Button>
          </header>
          <div className={runs.length > 1 ? "grid gap-4 xl:grid-cols-2" : ""}>
            {runs.map((run) => (
              <RunCard key={run.id} run={run} actions={actions} />
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}
