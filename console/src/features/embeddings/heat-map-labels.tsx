/** The numbers, texts and thumbnails beside the rows and above the columns of a heat map. */
import { BlobImage } from "../../ui/blob-image.tsx";
import { type Entry, isImage, nameOf } from "./entries.ts";

/** Of one axis: more would overlap. */
const maxLabels = 20;

interface LabelsProps {
  readonly entries: readonly Entry[];
}

/** The entries that have a label, with the place of their middle and the room of each on the axis. */
function labelsOf(entries: readonly Entry[]) {
  const step = Math.ceil(entries.length / maxLabels);
  return entries.flatMap((entry, at) =>
    at % step === 0
      ? [
          {
            entry,
            at,
            place: `${((at + 0.5) / entries.length) * 100}%`,
            room: `min(2rem, ${(step / entries.length) * 95}%)`,
          },
        ]
      : [],
  );
}

const thumbnail = "rounded-sm object-cover";

export const ColumnLabels = ({ entries }: LabelsProps) => (
  <div
    className={`relative col-start-2 ${entries.some(isImage) ? "h-8" : "h-4"}`}
    aria-hidden="true"
  >
    {labelsOf(entries).map(({ entry, at, place, room }) => (
      <span
        key={at}
        title={nameOf(entry)}
        className="absolute bottom-0 flex -translate-x-1/2 justify-center"
        style={{ left: place, ...(isImage(entry) && { width: room }) }}
      >
        {isImage(entry) ? (
          <BlobImage blob={entry} alt="" className={`${thumbnail} aspect-square w-full`} />
        ) : (
          at + 1
        )}
      </span>
    ))}
  </div>
);

export const RowLabels = ({ entries }: LabelsProps) => (
  <div className="relative" aria-hidden="true">
    {labelsOf(entries).map(({ entry, at, place, room }) => (
      <span
        key={at}
        title={nameOf(entry)}
        className={`absolute right-0 max-w-full -translate-y-1/2 ${isImage(entry) ? "flex items-center gap-1" : "truncate"}`}
        style={{ top: place, ...(isImage(entry) && { height: room }) }}
      >
        {at + 1}{" "}
        {isImage(entry) ? (
          <BlobImage blob={entry} alt="" className={`${thumbnail} aspect-square h-full`} />
        ) : (
          entry
        )}
      </span>
    ))}
  </div>
);
