/** Reference images for an edit. */
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import type { LeftOut } from "../../lib/accept-images.ts";
import { ImageFiles } from "../../ui/image-files.tsx";

interface ReferenceImagesProps {
  readonly images: readonly Blob[];
  readonly onChange: (images: readonly Blob[]) => void;
}

const limits = { types: ["image/png", "image/jpeg", "image/webp"], maxImages: 16 };

export function ReferenceImages({ images, onChange }: ReferenceImagesProps) {
  const t = useT();
  const [leftOut, setLeftOut] = useState<readonly LeftOut[]>([]);
  return (
    <ImageFiles
      label={t("images.references")}
      hint={t("images.referencesHint")}
      limits={limits}
      images={images}
      leftOut={leftOut}
      alt={(_, at) => t("images.reference", { number: at + 1 })}
      onChange={(accepted) => {
        setLeftOut(accepted.leftOut);
        onChange(accepted.images);
      }}
    />
  );
}
