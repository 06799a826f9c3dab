/** The images playground: generate and edit with one or more models side by side. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { scrollToResults, Workbench } from "../../ui/workbench.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { Compare } from "./compare.tsx";
import { EstimatedCost } from "./estimated-cost.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import { History, historyQuery } from "./history.tsx";
import type { ImageActions } from "./image-actions.tsx";
import { ImageFields } from "./image-fields.tsx";
import { Lightbox } from "./lightbox.tsx";
import { MaskPainter } from "./mask-painter.tsx";
import { ProjectGallery } from "./project-gallery.tsx";
import { RunFeed } from "./run-feed.tsx";
import { useImageForm } from "./use-image-form.ts";
import { type ImageSettings, useImageRuns } from "./use-image-runs.ts";

type View = "results" | "mask" | "history" | "project";

interface Viewed {
  readonly entry: GalleryEntry;
  readonly entries: readonly GalleryEntry[];
}

export function ImagesPage() {
  const t = useT();
  const queryClient = useQueryClient();
  const query = useQuery(modelsQuery);
  const models = query.data?.data.filter(({ kind }) => kind === "image") ?? [];
  const storing = models.filter((each) => each.stores_content);
  const { model } = useSearch({ from: "/signed-in/playground/images" });
  const form = useImageForm(models, model);
  const { data: history = [] } = useQuery(historyQuery);
  const { clicks, start, cancel, isRunning } = useImageRuns(() =>
    queryClient.invalidateQueries({ queryKey: historyQuery.queryKey }),
  );
  const [view, setView] = useState<View>("results");
  const [viewed, setViewed] = useState<Viewed>();
  const [compared, setCompared] = useState<readonly GalleryEntry[]>([]);
  const results = useRef<HTMLDivElement>(null);

  const show = (next: View): void => {
    setView(next);
    scrollToResults(results.current);
  };
  const generate = async (): Promise<void> => {
    if (isRunning || !form.isComplete) return;
    const { settings } = form;
    start(await form.requests(), settings);
    setView("results");
  };
  const reuse = (settings: ImageSettings): void => {
    form.useAgain(settings);
    setViewed(undefined);
    scrollTo({ top: 0 });
  };
  const actions: ImageActions = {
    view: (entry, entries) => setViewed({ entry, entries }),
    edit: (image) => {
      form.setReferences([image]);
      setViewed(undefined);
      show("mask");
    },
    addReference: (image) => {
      form.setReferences([...form.references, image]);
      setViewed(undefined);
    },
    compare: (entry) => {
      setViewed(undefined);
      setCompared((present) =>
        present.some(({ id }) => id === entry.id)
          ? present.filter(({ id }) => id !== entry.id)
          : [...present, entry],
      );
    },
    useAgain: ({ parameters: { model: used, ...parameters }, references, maskSteps }) =>
      reuse({ models: [used], ...parameters, references, maskSteps }),
    isCompared: ({ id }) => compared.some((entry) => entry.id === id),
  };
  const names = {
    results: t("images.results"),
    mask: t("images.mask"),
    history: t("images.history"),
    project: t("images.projectGallery"),
  } as const;
  const open = view === "mask" && !form.isEdit ? "results" : view;

  return (
    <Workbench
      title={t("nav.images")}
      query={query}
      request={
        <ImageFields
          models={models}
          form={form}
          onReferences={() => setView("mask")}
          onSubmit={generate}
        />
      }
      actions={
        <>
          {form.selected.length > 0 && <EstimatedCost requests={form.estimates} />}
          <div className="flex gap-2">
            <Button
              look="primary"
              className="flex-1"
              onClick={generate}
              disabled={isRunning || !form.isComplete}
            >
              {form.isEdit ? t("images.edit") : t("images.generate")}
            </Button>
            {isRunning && <Button onClick={cancel}>{t("action.cancel")}</Button>}
          </div>
        </>
      }
      resultsRef={results}
    >
      <Tabs
        label={t("nav.images")}
        open={names[open]}
        onOpen={(name) =>
          setView((Object.keys(names) as View[]).find((key) => names[key] === name) ?? "results")
        }
        tabs={[
          {
            name: names.results,
            content:
              clicks.length === 0 ? (
                <Empty title={t("images.noResults")}>{t("images.noResults.hint")}</Empty>
              ) : (
                <RunFeed clicks={clicks} actions={actions} onReuse={reuse} />
              ),
          },
          ...(form.isEdit
            ? [
                {
                  name: names.mask,
                  content: form.bitmap && (
                    <MaskPainter image={form.bitmap} history={form.mask} onChange={form.setMask} />
                  ),
                },
              ]
            : []),
          {
            name: names.history,
            mark: history.length > 0 && <Badge>{history.length}</Badge>,
            content: <History actions={actions} />,
          },
          ...(storing.length > 0
            ? [
                {
                  name: names.project,
                  content: <ProjectGallery models={storing} actions={actions} />,
                },
              ]
            : []),
        ]}
      />
      {viewed && <Lightbox {...viewed} actions={actions} onClose={() => setViewed(undefined)} />}
      <Compare entries={compared} onClose={() => setCompared([])} />
    </Workbench>
  );
}
