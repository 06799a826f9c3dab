/** A generated image that opens in full size. */
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import type { GalleryEntry } from "./gallery-store.ts";

interface ImageButtonProps {
  readonly entry: GalleryEntry;
  readonly onClick: () => void;
  /** Cut to a square, so that the images of a grid are of one size. */
  readonly isSquare?: boolean;
}

export function ImageButton({ entry, onClick, isSquare = false }: ImageButtonProps) {
  const t = useT();
  return (
    <button
      type="button"
      title={t("images.fullSize")}
      onClick={onClick}
      className="block w-full cursor-zoom-in overflow-hidden rounded-md border border-line bg-sunken"
    >
      <BlobImage
        blob={entry.image}
        alt={entry.parameters.prompt}
        className={classNames("w-full", isSquare ? "aspect-square object-cover" : "h-auto")}
      />
    </button>
  );
}
