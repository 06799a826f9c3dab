/** The earlier results of this browser. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useT } from "../../i18n/messages.ts";
import { Empty, QueryView } from "../../ui/states.tsx";
import { GalleryGrid } from "./gallery-grid.tsx";
import { deleteFromGallery, type GalleryEntry, listGallery } from "./gallery-store.ts";
import type { ImageActions } from "./image-actions.tsx";

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
          <GalleryGrid
            entries={entries}
            actions={actions}
            hint={t("images.gallery.hint")}
            deleteDescription={t("images.gallery.delete.description")}
            onDelete={remove}
          />
        )
      }
    </QueryView>
  );
}
