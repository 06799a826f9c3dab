/** The texts to embed: typed, pasted, dropped or from a file. */
import { FileText, X } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type TransitionStartFunction,
  useId,
  useRef,
  useState,
} from "react";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { FileInput } from "../../ui/file-input.tsx";
import { TextArea } from "../../ui/input.tsx";
import { optionsOf, Select } from "../../ui/select.tsx";
import { readInWorker } from "./read-in-worker.ts";
import { maxTexts, type ReadTexts } from "./read-texts.ts";

interface TextInputProps {
  readonly source: TextSource;
  /** The texts of the content. */
  readonly typed: ReadTexts;
  /** A file is being read. */
  readonly isReading: boolean;
  readonly startReading: TransitionStartFunction;
  readonly onChange: (source: TextSource) => void;
  /** Called with dropped and pasted images. Undefined if no chosen model reads images. */
  readonly onImages: ((files: readonly File[]) => void) | undefined;
}

export interface TextSource {
  /** One text per line. */
  readonly content: string;
  /** The file that the texts are from. If absent, they were typed, pasted or changed. */
  readonly file?: { readonly file: File; readonly read: ReadTexts };
}

const isImageFile = ({ type }: File): boolean => type.startsWith("image/");

export function TextInput({
  source,
  typed,
  isReading,
  startReading,
  onChange,
  onImages,
}: TextInputProps) {
  const t = useT();
  const id = useId();
  const [problem, setProblem] = useState<string>();
  const [isOver, setOver] = useState(false);
  // Of the last file: an earlier one that is still being read is discarded.
  const reading = useRef(0);
  const { content, file: loaded } = source;
  // The field has only the texts of a file that are used.
  const leftOut = loaded?.read.leftOut ?? typed.leftOut;
  const change = (next: TextSource): void => {
    reading.current++;
    onChange(next);
  };
  const read = async (file: File, column: string | undefined, number: number): Promise<void> => {
    const found = await readInWorker(file, column);
    if (reading.current !== number) return;
    if ("reason" in found) {
      const { reason } = found;
      setProblem(
        reason === "notText"
          ? t("embeddings.notText", { name: file.name })
          : t(`embeddings.unreadable.${reason}`, { line: found.line }),
      );
      return;
    }
    setProblem(undefined);
    // The field holds one text per line, so line breaks inside a text become spaces.
    const lines = found.texts.map((each) => each.replaceAll(/\s*\n\s*/g, " "));
    change({ content: lines.join("\n"), file: { file, read: found } });
  };
  const load = (file: File | undefined, column?: string): void => {
    if (!file) return;
    reading.current++;
    const number = reading.current;
    startReading(() =>
      read(file, column, number).catch((error: unknown) => setProblem(errorText(error))),
    );
  };
  const add = (files: FileList): void => {
    const images = [...files].filter(isImageFile);
    const [image] = images;
    if (image) setProblem(onImages ? undefined : t("embeddings.noImages", { name: image.name }));
    if (image) onImages?.(images);
    load([...files].find((file) => !isImageFile(file)));
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    add(event.dataTransfer.files);
  };
  const paste = (event: ClipboardEvent): void => {
    // Office programs copy a text together with its image.
    if (event.clipboardData.getData("text/plain") === "") add(event.clipboardData.files);
  };
  return (
    <div className="flex flex-col gap-2">
      <Field label={t("embeddings.texts")} hint={t("embeddings.textsHint")} error={problem}>
        {(ids) => (
          <TextArea
            {...ids}
            rows={10}
            value={content}
            onChange={(event) => change({ content: event.target.value })}
            onDrop={drop}
            onPaste={paste}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            className={isOver ? "outline-2 outline-accent" : undefined}
          />
        )}
      </Field>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <label htmlFor={id} className="sr-only">
          {t("embeddings.file")}
        </label>
        <FileInput id={id} accept=".txt,.csv,.jsonl" onFiles={([file]) => load(file)} />
        <span className="text-xs text-muted" aria-live="polite">
          {isReading
            ? t("embeddings.reading")
            : t("embeddings.textCount", { count: typed.texts.length })}
        </span>
      </div>
      {leftOut > 0 && (
        <p role="alert" className="text-xs text-warn">
          {t("embeddings.leftOut", { max: maxTexts, count: maxTexts + leftOut })}
        </p>
      )}
      {loaded && (
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5 rounded-md bg-sunken px-2 py-1.5 text-xs">
          <FileText size={14} className="text-muted" />
          <span className="min-w-0 flex-1 truncate font-medium" title={loaded.file.name}>
            {loaded.file.name}
          </span>
          {loaded.read.columns.length > 1 && (
            <span className="flex items-center gap-2 text-muted">
              <label htmlFor={`${id}-column`}>{t("embeddings.column")}</label>
              <Select
                id={`${id}-column`}
                value={loaded.read.column ?? ""}
                onChange={(column) => load(loaded.file, column)}
                options={optionsOf(loaded.read.columns)}
                className="max-w-36"
              />
            </span>
          )}
          <Button
            size="small"
            look="quiet"
            aria-label={t("embeddings.removeFile", { name: loaded.file.name })}
            onClick={() => change({ content: "" })}
          >
            <X size={14} />
          </Button>
        </div>
      )}
    </div>
  );
}
