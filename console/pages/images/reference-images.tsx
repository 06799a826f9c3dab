/** Reference images for an edit: chosen, dropped or pasted. */
import { type ClipboardEvent, type DragEvent, useId } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { FileInput } from "../../ui/file-input.tsx";
import { BlobImage } from "./blob-image.tsx";

interface ReferenceImagesProps {
  readonly images: readonly Blob[];
  readonly onChange: (images: readonly Blob[]) => void;
}

const maxImages = 16;
const isImage = ({ type }: Blob): boolean => /^image\/(?:png|jpeg|webp)$/.test(type);

export function ReferenceImages({ images, onChange }: ReferenceImagesProps) {
  const t = useT();
  const id = useId();
  const add = (files: Iterable<File>): void =>
    onChange([...images, ...[...files].filter(isImage)].slice(0, maxImages));
  const paste = (event: ClipboardEvent): void => add(event.clipboardData.files);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    add(event.dataTransfer.files);
  };
  return (
    <section
      aria-label={t("images.references")}
      className="flex flex-col gap-2 rounded-md border border-dashed border-line p-3"
      onPaste={paste}
      onDrop={drop}
      onDragOver={(event) => event.preventDefault()}
    >
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {t("images.references")}
      </label>
      <FileInput id={id} accept="image/png,image/jpeg,image/webp" multiple onFiles={add} />
      <p className="text-xs text-muted">{t("images.referencesHint")}</p>
      {images.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {images.map((image, at) => (
            <li key={`${at} ${image.size}`} className="flex flex-col items-center gap-1">
              <BlobImage
                blob={image}
                alt={t("images.reference", { number: at + 1 })}
                className="size-20 rounded object-cover"
              />
              <Button
                size="small"
                look="quiet"
                onClick={() => onChange(images.filter((_, other) => other !== at))}
              >
                {t("action.remove")}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
