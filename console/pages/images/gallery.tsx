/** The earlier results of this browser, with their parameters. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { BlobImage } from "./blob-image.tsx";
import { deleteFromGallery, type GalleryEntry, listGallery } from "./gallery-store.ts";
import type { ImageParameters } from "./image-request.ts";
import { extensionOf } from "./result-card.tsx";

export const galleryQuery = queryOptions({ queryKey: ["gallery"], queryFn: listGallery });

export function Gallery({ onRerun }: { onRerun: (parameters: ImageParameters) => void }) {
  const t = useT();
  const queryClient = useQueryClient();
  const query = useQuery(galleryQuery);
  const remove = async ({ id }: GalleryEntry): Promise<void> => {
    await deleteFromGallery(id);
    await queryClient.invalidateQueries({ queryKey: galleryQuery.queryKey });
  };
  return (
    <Card title={t("images.gallery")}>
      <QueryView query={query}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title={t("images.gallery.none")}>{t("images.gallery.hint")}</Empty>
          ) : (
            <ul className="grid grid-cols-2 gap-3 p-4 sm:grid-cols-3 lg:grid-cols-4">
              {entries.map((entry) => (
                <li key={entry.id} className="flex flex-col gap-1">
                  <BlobImage
                    blob={entry.image}
                    alt={entry.parameters.prompt}
                    className="aspect-square w-full rounded object-cover"
                  />
                  <p className="truncate text-xs" title={entry.parameters.prompt}>
                    {entry.parameters.prompt}
                  </p>
                  <p className="truncate text-xs text-muted">
                    {entry.parameters.model} · {milliseconds(entry.durationMs)} ·{" "}
                    {dollars(entry.cost)}
                  </p>
                  <div className="flex flex-wrap gap-1">
                    <Button size="small" onClick={() => onRerun(entry.parameters)}>
                      {t("images.rerun")}
                    </Button>
                    <Button
                      size="small"
                      onClick={() =>
                        saveFile(
                          `${entry.parameters.model}.${extensionOf(entry.image)}`,
                          entry.image,
                        )
                      }
                    >
                      {t("action.download")}
                    </Button>
                    <Button size="small" look="quiet" onClick={() => remove(entry)}>
                      {t("action.delete")}
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Card>
  );
}
