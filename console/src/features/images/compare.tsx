/** Two images side by side, with what differs between them. */
import { useT } from "../../i18n/messages.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import type { GalleryEntry } from "./gallery-store.ts";
import { ImageFacts } from "./image-facts.tsx";

interface CompareProps {
  /** One: the other one is still to be chosen. Two: they are shown. */
  readonly entries: readonly GalleryEntry[];
  readonly onClose: () => void;
}

export function Compare({ entries, onClose }: CompareProps) {
  const t = useT();
  const [first, second] = entries;
  if (!first) return null;
  if (!second)
    return (
      <div
        role="status"
        className="fixed bottom-4 left-1/2 z-20 flex w-[min(28rem,94vw)] -translate-x-1/2 items-center gap-3 rounded-lg border border-line bg-surface p-2 shadow-xl"
      >
        <BlobImage blob={first.image} alt="" className="size-10 rounded object-cover" />
        <p className="min-w-0 flex-1">{t("images.compareWith")}</p>
        <Button size="small" onClick={onClose}>
          {t("action.cancel")}
        </Button>
      </div>
    );
  return (
    <Dialog title={t("images.compareTitle")} size="full" isOpen onClose={onClose}>
      <div className="grid min-h-0 flex-1 gap-4 overflow-y-auto sm:grid-cols-2">
        <Side entry={first} other={second} />
        <Side entry={second} other={first} />
      </div>
    </Dialog>
  );
}

const Side = ({ entry, other }: { entry: GalleryEntry; other: GalleryEntry }) => (
  <figure className="flex min-w-0 flex-col gap-3">
    <BlobImage
      blob={entry.image}
      alt={entry.parameters.prompt}
      className="h-[60dvh] w-full rounded-md bg-sunken object-contain"
    />
    <figcaption>
      <ImageFacts entry={entry} other={other} />
    </figcaption>
  </figure>
);
