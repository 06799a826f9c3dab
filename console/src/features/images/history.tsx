/** The earlier results of this browser. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { Columns2, RotateCcw } from "lucide-react";
import { type Translate, useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { deleteFromGallery, type GalleryEntry, listGallery } from "./gallery-store.ts";
import type { ImageActions } from "./image-actions.tsx";
import { ImageButton } from "./image-button.tsx";
import { optionLabel, valueLabel } from "./option-labels.ts";

export const historyQuery = queryOptions({ queryKey: ["gallery"], queryFn: listGallery });

export function History({ actions }: { actions: ImageActions }) {
  const t = useT();
  const queryClient = useQueryClient();
  const query = useQuery(historyQuery);
  const remove = async ({ id }: GalleryEntry): Promise<void> => {
    await deleteFromGallery(id);
    await queryClient.invalidateQueries({ queryKey: historyQuery.queryKey });
  };
  return (
    <QueryView query={query}>
      {(entries) =>
        entries.length === 0 ? (
          <Empty title={t("images.gallery.none")}>{t("images.gallery.hint")}</Empty>
        ) : (
          <>
            <ul className="grid grid-cols-2 gap-x-4 gap-y-6 py-2 sm:grid-cols-3 xl:grid-cols-4">
              {entries.map((entry) => (
                <li key={entry.id} className="flex min-w-0 flex-col gap-1.5">
                  <ImageButton
                    entry={entry}
                    isSquare
                    onClick={() => actions.view(entry, entries)}
                  />
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
                      description={t("images.gallery.delete.description")}
                      onConfirm={() => remove(entry)}
                    />
                  </div>
                </li>
              ))}
            </ul>
            <p className="text-xs text-muted">{t("images.gallery.hint")}</p>
          </>
        )
      }
    </QueryView>
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
