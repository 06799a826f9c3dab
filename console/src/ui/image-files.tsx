/** Images from the user's files: chosen, dropped or pasted, shown as thumbnails. */
import { type ClipboardEvent, type DragEvent, useId } from "react";
import { useT } from "../i18n/messages.ts";
import {
  type AcceptedImages,
  acceptImages,
  type ImageLimits,
  type LeftOut,
} from "../lib/accept-images.ts";
import { BlobImage } from "./blob-image.tsx";
import { Button } from "./button.tsx";
import { FileInput } from "./file-input.tsx";

interface ImageFilesProps<Image extends Blob> extends AcceptedImages<Image> {
  readonly label: string;
  readonly hint: string;
  readonly limits: ImageLimits;
  readonly alt: (image: Image, at: number) => string;
  readonly onChange: (accepted: AcceptedImages<Image | File>) => void;
}

export function ImageFiles<Image extends Blob>({
  label,
  hint,
  limits,
  images,
  leftOut,
  alt,
  onChange,
}: ImageFilesProps<Image>) {
  const t = useT();
  const id = useId();
  const add = (files: Iterable<File>): void => onChange(acceptImages(images, files, limits));
  const paste = (event: ClipboardEvent): void => add(event.clipboardData.files);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    add(event.dataTransfer.files);
  };
  return (
    <section
      aria-label={label}
      className="flex flex-col gap-2 rounded-md border border-dashed border-line p-3"
      onPaste={paste}
      onDrop={drop}
      onDragOver={(event) => event.preventDefault()}
    >
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      <FileInput id={id} accept={limits.types.join(",")} multiple onFiles={add} />
      <p className="text-xs text-muted">{hint}</p>
      <LeftOutFiles leftOut={leftOut} limits={limits} />
      {images.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {images.map((image, at) => (
            <li key={`${at} ${image.size}`} className="flex flex-col items-center gap-1">
              <BlobImage
                blob={image}
                alt={alt(image, at)}
                className="size-20 rounded object-cover"
              />
              <Button
                size="small"
                look="quiet"
                onClick={() =>
                  onChange({ images: images.filter((_, other) => other !== at), leftOut: [] })
                }
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

const reasons = ["format", "count", "bytes"] as const;
const formatOf = (type: string): string => type.replace("image/", "").toUpperCase();

/** One message for each reason. */
function LeftOutFiles({
  leftOut,
  limits: { types, maxImages, maxBytes = 0 },
}: {
  leftOut: readonly LeftOut[];
  limits: ImageLimits;
}) {
  const t = useT();
  return reasons.map((reason) => {
    const names = leftOut.filter((file) => file.reason === reason).map(({ name }) => name);
    return (
      names.length > 0 && (
        <p key={reason} role="alert" className="text-xs wrap-anywhere text-bad">
          {t(`imageFiles.leftOut.${reason}`, {
            names: names.join(", "),
            formats: types.map(formatOf).join(", "),
            max: reason === "bytes" ? maxBytes / 1_000_000 : maxImages,
          })}
        </p>
      )
    );
  });
}
