/** The browser's own file input. The same file can be chosen again. */
interface FileInputProps {
  readonly id: string;
  readonly accept: string;
  readonly multiple?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

export const FileInput = ({ id, accept, multiple = false, onFiles }: FileInputProps) => (
  <input
    id={id}
    type="file"
    accept={accept}
    multiple={multiple}
    onChange={({ target }) => {
      onFiles([...(target.files ?? [])]);
      target.value = "";
    }}
    className="max-w-full text-xs text-muted file:mr-3 file:h-7 file:cursor-pointer file:rounded-md file:border file:border-line file:bg-surface file:px-2 file:font-medium file:text-ink hover:file:bg-sunken"
  />
);
