/** The earlier results of this browser, with their parameters. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { saveFile } from "../../lib/save-file.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { deleteFromGallery, type GalleryEntry, listGallery } from "./gallery-store.ts";
import { extensionOf } from "./result-card.tsx";

export const galleryQuery = queryOptions({ queryKey: ["gallery"], queryFn: listGallery });

interface GalleryProps {
  readonly onUseAgain: (entry: GalleryEntry) => void;
  readonly onEdit: (image: Blob) => void;
}

export function Gallery({ onUseAgain, onEdit }: GalleryProps) {
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
            <ul className="grid gap-4 p-4 sm:grid-cols-2 lg:grid-cols-3">
              {entries.map((entry) => (
                <li key={entry.id} className="flex flex-col gap-1.5">
                  <BlobImage
                    blob={entry.image}
                    alt={entry.parameters.prompt}
                    className="aspect-square w-full rounded bg-sunken object-contain"
                  />
                  <p className="line-clamp-2">{entry.parameters.prompt}</p>
                  <Parameters entry={entry} />
                  <div className="flex flex-wrap gap-1">
                    <Button size="small" onClick={() => onUseAgain(entry)}>
                      {t("images.useAgain")}
                    </Button>
                    <Button size="small" onClick={() => onEdit(entry.image)}>
                      {t("images.editThis")}
                    </Button>
                    <Button
                      size="small"
                      onClick={() => saveFile(`vexel.${extensionOf(entry.image)}`, entry.image)}
                    >
                      {t("action.download")}
                    </Button>
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
          )
        }
      </QueryView>
    </Card>
  );
}

function Parameters({ entry }: { entry: GalleryEntry }) {
  const t = useT();
  const { model, options } = entry.parameters;
  const given = Object.entries(options)
    .filter(([name]) => name !== "stream")
    .map(([name, value]) => `${name} ${value}`);
  return (
    <div className="text-xs text-muted">
      <p className="truncate">
        <code className="font-mono">{model}</code> · {milliseconds(entry.durationMs)} ·{" "}
        {dollars(entry.cost)}
      </p>
      <p className="truncate">
        <Time iso={new Date(entry.at).toISOString()} />
      </p>
      {(given.length > 0 || entry.references.length > 0) && (
        <p className="break-words">
          {[
            ...given,
            ...(entry.references.length > 0
              ? [t("images.referenceCount", { count: entry.references.length })]
              : []),
          ].join(" · ")}
        </p>
      )}
    </div>
  );
}
