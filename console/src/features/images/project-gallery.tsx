/**
 * The images that the gateway stores of the user's projects: those of models with `storeContent`, also of applications,
 * until they expire or are deleted.
 */
import { useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ShownModel, ShownRequest } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { optionsOf, Select } from "../../ui/select.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { GalleryGrid } from "./gallery-grid.tsx";
import type { ImageActions } from "./image-actions.tsx";
import { storedImagesQuery } from "./stored-images.ts";

interface ProjectGalleryProps {
  /** Image models that store content. */
  readonly models: readonly ShownModel[];
  readonly actions: ImageActions;
}

/** Requests of one page. Each may have many megabytes of images. */
const pageSize = 12;

export function ProjectGallery({ models, actions }: ProjectGalleryProps) {
  const t = useT();
  const [chosen, setChosen] = useState("");
  const model = models.find(({ id }) => id === chosen)?.id ?? models[0]?.id ?? "";
  const requests = useInfiniteQuery(
    pagedQuery<ShownRequest>("/requests", { model, status: "ok", limit: pageSize }),
  );
  return (
    <div className="flex flex-col gap-4">
      <Select
        aria-label={t("requests.model")}
        value={model}
        onChange={setChosen}
        className="max-w-72"
        options={optionsOf(models.map(({ id }) => id))}
      />
      <QueryView query={requests}>
        {({ pages }) => (
          <>
            <StoredImages requests={pages.flatMap(({ data }) => data)} actions={actions} />
            {requests.hasNextPage && (
              <Button
                className="self-center"
                onClick={() => requests.fetchNextPage()}
                disabled={requests.isFetchingNextPage}
              >
                {t("action.next")}
              </Button>
            )}
          </>
        )}
      </QueryView>
    </div>
  );
}

interface StoredImagesProps {
  readonly requests: readonly ShownRequest[];
  readonly actions: ImageActions;
}

function StoredImages({ requests, actions }: StoredImagesProps) {
  const t = useT();
  const queryClient = useQueryClient();
  const stored = useQueries({ queries: requests.map(storedImagesQuery) });
  const entries = stored.flatMap(({ data }) => data ?? []);
  if (stored.some(({ isPending }) => isPending) && entries.length === 0)
    return <p aria-busy="true">{t("state.loading")}</p>;
  if (entries.length === 0)
    return <Empty title={t("images.gallery.none")}>{t("images.projectGallery.hint")}</Empty>;
  return (
    <GalleryGrid
      entries={entries}
      actions={actions}
      hint={t("images.projectGallery.hint")}
      deleteDescription={t("images.projectGallery.delete")}
      onDelete={async ({ requestId }) => {
        await call(`/requests/${requestId}/content`, { method: "DELETE" });
        await queryClient.invalidateQueries({ queryKey: ["stored-images", requestId] });
      }}
    />
  );
}
