/** Images in a grid, each with how it was made and what can be done with it. */
import { Columns2, RotateCcw } from "lucide-react";
import { type Translate, useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import type { ImageActions } from "./image-actions.tsx";
import { ImageButton } from "./image-button.tsx";
import { optionLabel, valueLabel } from "./option-labels.ts";

interface GalleryGridProps {
  readonly entries: readonly GalleryEntry[];
  readonly actions: ImageActions;
  /** Where the images are stored, and how long. */
  readonly hint: string;
  readonly deleteDescription: string;
  readonly onDelete: (entry: GalleryEntry) => Promise<void>;
}

export function GalleryGrid(props: GalleryGridProps) {
  const { entries, actions, hint, deleteDescription, onDelete } = props;
  const t = useT();
  return (
    <>
      <ul className="grid grid-cols-2 gap-x-4 gap-y-6 py-2 sm:grid-cols-3 xl:grid-cols-4">
        {entries.map((entry) => (
          <li key={entry.id} className="flex min-w-0 flex-col gap-1.5">
            <ImageButton entry={entry} isSquare onClick={() => actions.view(entry, entries)} />
            <p className="truncate" title={entry.parameters.prompt}>
              {entry.parameters.prompt}
            </p>
            <p className="text-xs wrap-anywhere text-muted">{summaryOf(entry, t)}</p>
            <div className="-ml-2 flex flex-wrap items-center">
              <IconButton
                icon={RotateCcw}
                label={t("images.useAgain")}
                onClick={() => actions.useAgain(entry)}
              />
              <IconButton
                icon={Columns2}
                label={t("images.compare")}
                aria-pressed={actions.isCompared(entry)}
                onClick={() => actions.compare(entry)}
              />
              <ConfirmButton
                label={t("action.delete")}
                title={t("images.gallery.delete.title")}
                description={deleteDescription}
                onConfirm={() => onDelete(entry)}
              />
            </div>
          </li>
        ))}
      </ul>
      <p className="text-xs text-muted">{hint}</p>
    </>
  );
}

/** Such as `gpt-image-2 · Size: Square · 512 × 512 · 1.2 s · $0.04`. */
const summaryOf = (
  { parameters: { model, options }, durationMs, cost }: GalleryEntry,
  t: Translate,
): string =>
  [
    model,
    ...Object.entries(options)
      .filter(([name]) => name !== "stream")
      .map(([name, value]) =>
        t("text.pair", { name: optionLabel(name, t), value: valueLabel(value, t) }),
      ),
    milliseconds(durationMs),
    dollars(cost),
  ].join(" · ");
