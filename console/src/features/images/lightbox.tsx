/** One image in full size, with how it was made. The arrow keys go to the image before and after it. */
import { ChevronLeft, ChevronRight, Maximize2, Minimize2 } from "lucide-react";
import { useEffect, useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import { type ImageActions, ImageButtons } from "./image-actions.tsx";
import { ImageFacts } from "./image-facts.tsx";

interface LightboxProps {
  readonly entry: GalleryEntry;
  readonly entries: readonly GalleryEntry[];
  readonly actions: ImageActions;
  readonly onClose: () => void;
}

export function Lightbox({ entry, entries, actions, onClose }: LightboxProps) {
  const t = useT();
  const [isActualSize, setActualSize] = useState(false);
  const at = entries.findIndex(({ id }) => id === entry.id);
  const { view } = actions;
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent): void => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      const next = step === undefined ? undefined : entries[at + step];
      if (next) view(next, entries);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [entries, at, view]);
  const go = (step: number) => (): void => {
    const next = entries[at + step];
    if (next) view(next, entries);
  };
  return (
    <Dialog
      title={t("images.imageOf", { number: at + 1, count: entries.length })}
      size="full"
      isOpen
      onClose={onClose}
    >
      <div className="flex min-h-0 flex-1 flex-col gap-4 lg:flex-row">
        <button
          type="button"
          title={t(isActualSize ? "images.fitWindow" : "images.actualSize")}
          onClick={() => setActualSize(!isActualSize)}
          className={classNames(
            "min-h-0 min-w-0 flex-1 overflow-auto rounded-md bg-sunken",
            isActualSize ? "cursor-zoom-out" : "cursor-zoom-in",
          )}
        >
          <BlobImage
            blob={entry.image}
            alt={entry.parameters.prompt}
            className={isActualSize ? "max-w-none" : "size-full object-contain"}
          />
        </button>
        <div className="flex flex-col gap-4 lg:w-80 lg:shrink-0 lg:overflow-y-auto">
          <div className="flex items-center gap-1">
            <IconButton
              icon={ChevronLeft}
              label={t("images.previous")}
              disabled={at <= 0}
              onClick={go(-1)}
            />
            <IconButton
              icon={ChevronRight}
              label={t("images.next")}
              disabled={at >= entries.length - 1}
              onClick={go(1)}
            />
            <IconButton
              icon={isActualSize ? Minimize2 : Maximize2}
              label={t(isActualSize ? "images.fitWindow" : "images.actualSize")}
              onClick={() => setActualSize(!isActualSize)}
            />
          </div>
          <ImageFacts entry={entry} />
          <ImageButtons entry={entry} actions={actions} />
        </div>
      </div>
    </Dialog>
  );
}
