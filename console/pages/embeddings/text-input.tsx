/** The texts to embed: typed, pasted, dropped or from a file. */
import { type DragEvent, useId, useState } from "react";
import { errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { FileInput } from "../../ui/file-input.tsx";
import { TextArea } from "../../ui/input.tsx";
import { maxTexts, readTexts } from "./read-texts.ts";

interface TextInputProps {
  /** One text per line. */
  readonly content: string;
  readonly onChange: (content: string) => void;
}

export function TextInput({ content, onChange }: TextInputProps) {
  const t = useT();
  const id = useId();
  const [problem, setProblem] = useState<string>();
  const { texts, leftOut } = readTexts(content);
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    try {
      const { texts: found } = readTexts(await file.text(), file.name);
      // The field holds one text per line, so line breaks inside a text become spaces.
      onChange(found.map((text) => text.replaceAll(/\s*\n\s*/g, " ")).join("\n"));
      setProblem(undefined);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    void read(event.dataTransfer.files[0]);
  };
  return (
    <div className="flex flex-col gap-2">
      <Field label={t("embeddings.texts")} hint={t("embeddings.textsHint")} error={problem}>
        {(ids) => (
          <TextArea
            {...ids}
            rows={8}
            value={content}
            onChange={(event) => onChange(event.target.value)}
            onDrop={drop}
            onDragOver={(event) => event.preventDefault()}
          />
        )}
      </Field>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <label htmlFor={id} className="sr-only">
          {t("embeddings.file")}
        </label>
        <FileInput id={id} accept=".txt,.csv,.jsonl" onFiles={([file]) => void read(file)} />
        <span className="text-xs text-muted" aria-live="polite">
          {t("embeddings.textCount", { count: texts.length })}
        </span>
        {leftOut > 0 && (
          <span role="alert" className="text-xs text-warn">
            {t("embeddings.leftOut", { count: leftOut, max: maxTexts })}
          </span>
        )}
      </div>
    </div>
  );
}
