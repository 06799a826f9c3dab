/** The run of one model: what the stream has shown so far, then its images, or its error. */
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { dollars, duration, milliseconds } from "../../lib/format.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { Card } from "../../ui/card.tsx";
import { FailedRequest } from "../../ui/failed-request.tsx";
import { type ImageActions, ImageButtons } from "./image-actions.tsx";
import { ImageButton } from "./image-button.tsx";
import { type ImageRun, isRunning } from "./use-image-runs.ts";

interface RunCardProps {
  readonly run: ImageRun;
  readonly actions: ImageActions;
}

export function RunCard({ run, actions }: RunCardProps) {
  const t = useT();
  const { request, result, entries = [], failure, isCanceled } = run;
  return (
    <Card
      title={<span className="font-mono text-xs wrap-anywhere">{request.model}</span>}
      actions={
        result && (
          <span className="text-xs text-muted tabular-nums">
            {milliseconds(result.durationMs)} · {dollars(entries[0]?.cost ?? null)}
          </span>
        )
      }
    >
      <div className="flex flex-col gap-3 p-4">
        {failure && <FailedRequest failure={failure} />}
        {isCanceled && <p className="text-muted">{t("images.canceled")}</p>}
        {isRunning(run) && <Progress run={run} />}
        <div className={entries.length > 1 ? "grid gap-4 sm:grid-cols-2" : "max-w-2xl"}>
          {entries.map((entry) => (
            <figure key={entry.id} className="flex flex-col gap-2">
              <ImageButton entry={entry} onClick={() => actions.view(entry, entries)} />
              <ImageButtons entry={entry} actions={actions} hasReuse={false} />
            </figure>
          ))}
        </div>
        {result?.adapted && (
          <p className="text-xs text-muted">{t("images.adapted", { options: result.adapted })}</p>
        )}
        {result?.dropped && (
          <p className="text-xs text-warn">{t("images.dropped", { options: result.dropped })}</p>
        )}
      </div>
    </Card>
  );
}

/** The newest partial image, or an empty frame in the shape of the image, with the time since the start. */
function Progress({ run: { request, partial, startedAt } }: { run: ImageRun }) {
  const t = useT();
  const elapsedMs = useElapsed(startedAt);
  const [, width, height] = /^(\d+)x(\d+)$/.exec(request.options.size ?? "") ?? [];
  return (
    <div className="relative max-w-2xl">
      {partial ? (
        <BlobImage
          blob={partial.image}
          alt={t("images.partial")}
          className="w-full rounded-md border border-line"
        />
      ) : (
        <div
          className="animate-pulse rounded-md bg-sunken"
          style={{ aspectRatio: width && height ? `${width} / ${height}` : "1" }}
        />
      )}
      <p
        role="status"
        className="absolute top-2 left-2 rounded-full bg-surface/90 px-2.5 py-1 text-xs tabular-nums shadow-sm"
      >
        {partial ? t("images.partialCount", { count: partial.count }) : t("images.generating")} ·{" "}
        {duration(elapsedMs)}
      </p>
    </div>
  );
}

function useElapsed(startedAt: number): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, now - startedAt);
}
