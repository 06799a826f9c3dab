/** An entry in a line of text: a text itself, or an image as a thumbnail with its file name. */
import { BlobImage } from "../../ui/blob-image.tsx";
import { type Entry, isImage } from "./entries.ts";

export const EntryName = ({ entry }: { entry: Entry }) =>
  isImage(entry) ? (
    <>
      {/* The file name beside it says the same. */}
      <BlobImage
        blob={entry}
        alt=""
        className="mr-2 inline-block size-10 rounded border border-line object-cover align-middle"
      />
      {entry.name}
    </>
  ) : (
    entry
  );
