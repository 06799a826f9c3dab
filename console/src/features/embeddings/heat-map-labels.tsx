/** The numbers, texts and thumbnails beside the rows and above the columns of a heat map that are in view. */
import type { Viewport } from "../../lib/viewport.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { type Entry, isImage, nameOf } from "./entries.ts";

/** Of a label, in CSS pixels: nearer ones would overlap. Columns have numbers with up to four digits. */
const minRoom = { top: 22, left: 34 } as const;
const maxRoom = 32;

interface LabelsProps {
  readonly entries: readonly Entry[];
  /** Undefined if the size of the heat map is not known yet. */
  readonly viewport: Viewport | undefined;
  /** Of each side of the heat map, in CSS pixels. */
  readonly length: number;
}

/** The entries that have a label, with the place of their middle and the room of each on the axis. */
function labelsOf({ entries, viewport, length }: LabelsProps, axis: "left" | "top") {
  if (!viewport) return [];
  const { scale, [axis]: offset } = viewport;
  const step = Math.ceil(minRoom[axis] / scale);
  return entries.flatMap((entry, at) => {
    const place = offset + (at + 0.5) * scale;
    return at % step === 0 && place >= 0 && place <= length
      ? [{ entry, at, place, room: Math.min(maxRoom, step * scale * 0.95) }]
      : [];
  });
}

const thumbnail = "aspect-square rounded-sm object-cover";

export const ColumnLabels = (props: LabelsProps) => (
  <div className={"relative col-start-2 h-8"} aria-hidden="true">
    {labelsOf(props, "left").map(({ entry, at, place, room }) => (
      <span
        key={at}
        title={nameOf(entry)}
        className="absolute bottom-0 flex -translate-x-1/2 justify-center"
        style={{ left: place, ...(isImage(entry) && { width: room }) }}
      >
        {isImage(entry) ? (
          <BlobImage blob={entry} alt="" className={`${thumbnail} w-full`} />
        ) : (
          at + 1
        )}
      </span>
    ))}
  </div>
);

export const RowLabels = (props: LabelsProps) => (
  <div className="relative" aria-hidden="true">
    {labelsOf(props, "top").map(({ entry, at, place, room }) => (
      <span
        key={at}
        title={nameOf(entry)}
        className={`absolute right-0 max-w-full -translate-y-1/2 ${isImage(entry) ? "flex items-center gap-1" : "truncate"}`}
        style={{ top: place, ...(isImage(entry) && { height: room }) }}
      >
        {at + 1}{" "}
        {isImage(entry) ? (
          <BlobImage blob={entry} alt="" className={`${thumbnail} h-full`} />
        ) : (
          entry
        )}
      </span>
    ))}
  </div>
);
