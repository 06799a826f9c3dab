/** A button that chooses files. The same file can be chosen again. */
import { Upload } from "lucide-react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import { buttonStyle } from "./button.tsx";

interface FileInputProps {
  /** Of the input, which has a label of its own. */
  readonly id: string;
  readonly accept: string;
  readonly multiple?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

export function FileInput({ id, accept, multiple = false, onFiles }: FileInputProps) {
  const t = useT();
  return (
    // The browser's own button says that no file is chosen, also when the page shows the files that were chosen.
    <span className="relative inline-flex">
      <input
        id={id}
        type="file"
        accept={accept}
        multiple={multiple}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
        className="peer sr-only"
      />
      <label
        htmlFor={id}
        className={classNames(
          buttonStyle({ size: "small" }),
          "cursor-pointer peer-focus-visible:outline-2 peer-focus-visible:outline-offset-2 peer-focus-visible:outline-accent",
        )}
      >
        <Upload size={14} />
        {t(multiple ? "files.choose" : "file.choose")}
      </label>
    </span>
  );
}
