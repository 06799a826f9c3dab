/** The fields of an image request. */
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { TextArea } from "../../ui/input.tsx";
import { ModelChoice } from "../models/model-choice.tsx";
import { ImageCode } from "./image-code.tsx";
import { ModelOptions } from "./model-options.tsx";
import { ReferenceImages } from "./reference-images.tsx";
import type { ImageForm } from "./use-image-form.ts";

interface ImageFieldsProps {
  readonly models: readonly ShownModel[];
  readonly form: ImageForm;
  /** Reference images were chosen or removed. */
  readonly onReferences: () => void;
  readonly onSubmit: () => void;
}

export function ImageFields({ models, form, onReferences, onSubmit }: ImageFieldsProps) {
  const t = useT();
  const { selected, isEdit, parameters, references, hasMask } = form;
  return (
    <>
      <ModelChoice
        models={models}
        selected={selected.map(({ id }) => id)}
        onChange={form.setChosen}
        unavailable={form.unavailable}
      />
      <Field label={t("images.prompt")} hint={t("images.promptHint")}>
        {(ids) => (
          <TextArea
            {...ids}
            rows={5}
            value={form.prompt}
            onChange={(event) => form.setPrompt(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit();
            }}
          />
        )}
      </Field>
      <ModelOptions
        models={selected}
        isEdit={isEdit}
        values={form.options}
        onChange={form.setOptions}
      />
      <ReferenceImages
        images={references}
        onChange={(images) => {
          form.setReferences(images);
          onReferences();
        }}
      />
      {parameters[0] && form.prompt.trim() !== "" && (
        <ImageCode parameters={parameters[0]} references={references} hasMask={hasMask} />
      )}
    </>
  );
}
