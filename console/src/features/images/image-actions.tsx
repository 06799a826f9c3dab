/** What can be done with a generated image. */
import { Columns2, Download, ImagePlus, Pencil, RotateCcw } from "lucide-react";
import { useT } from "../../i18n/messages.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import type { GalleryEntry } from "./gallery-store.ts";

export interface ImageActions {
  /** Shows the image in full size. The arrow keys go through `entries`. */
  readonly view: (entry: GalleryEntry, entries: readonly GalleryEntry[]) => void;
  /** The image becomes the image that the mask is painted on. */
  readonly edit: (image: Blob) => void;
  readonly addReference: (image: Blob) => void;
  readonly compare: (entry: GalleryEntry) => void;
  /** The parameters of the image, and its reference images and mask, are used for the next request. */
  readonly useAgain: (entry: GalleryEntry) => void;
  readonly isCompared: (entry: GalleryEntry) => boolean;
}

interface ImageButtonsProps {
  readonly entry: GalleryEntry;
  readonly actions: ImageActions;
  /** The settings of a run are used again by a button above its images. */
  readonly hasReuse?: boolean;
}

export function ImageButtons({ entry, actions, hasReuse = true }: ImageButtonsProps) {
  const t = useT();
  const { image } = entry;
  return (
    <div className="flex flex-wrap items-center gap-1">
      <Button size="small" onClick={() => actions.edit(image)}>
        <Pencil size={14} />
        {t("images.editThis")}
      </Button>
      <Button size="small" onClick={() => actions.addReference(image)}>
        <ImagePlus size={14} />
        {t("images.asReference")}
      </Button>
      <IconButton
        icon={Columns2}
        label={t("images.compare")}
        aria-pressed={actions.isCompared(entry)}
        onClick={() => actions.compare(entry)}
      />
      {hasReuse && (
        <IconButton
          icon={RotateCcw}
          label={t("images.useAgain")}
          onClick={() => actions.useAgain(entry)}
        />
      )}
      <IconButton
        icon={Download}
        label={t("action.download")}
        onClick={() => saveFile(`vexel.${extensionOf(image)}`, image)}
      />
    </div>
  );
}

const extensionOf = ({ type }: Blob): string => type.split("/").at(-1) || "png";
