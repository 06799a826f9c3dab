/** What can be done with a generated image. */
import { useT } from "../../i18n/messages.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../ui/button.tsx";
import type { GalleryEntry } from "./gallery-store.ts";

export interface ImageActions {
  /** Shows the image in full size. The arrow keys go through `among`. */
  readonly view: (entry: GalleryEntry, among: readonly GalleryEntry[]) => void;
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
}

export function ImageButtons({ entry, actions }: ImageButtonsProps) {
  const t = useT();
  const { image } = entry;
  return (
    <div className="flex flex-wrap gap-1">
      <Button size="small" onClick={() => actions.edit(image)}>
        {t("images.editThis")}
      </Button>
      <Button size="small" onClick={() => actions.addReference(image)}>
        {t("images.asReference")}
      </Button>
      <Button
        size="small"
        aria-pressed={actions.isCompared(entry)}
        onClick={() => actions.compare(entry)}
      >
        {t("images.compare")}
      </Button>
      <Button size="small" onClick={() => saveFile(`vexel.${extensionOf(image)}`, image)}>
        {t("action.download")}
      </Button>
    </div>
  );
}

const extensionOf = ({ type }: Blob): string => type.split("/").at(-1) || "png";
