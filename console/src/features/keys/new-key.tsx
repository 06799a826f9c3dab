/** A new key, which is shown once: its value, the base URL, code that uses it, and a request that tests it. */
import { useQuery } from "@tanstack/react-query";
import type { CreatedApiKey, ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { baseUrl, sampleRequest } from "../models/sample-request.ts";
import { KeyTest } from "./key-test.tsx";

interface NewKeyProps {
  /** Undefined if the dialog is closed. */
  readonly created: CreatedApiKey | undefined;
  readonly onClose: () => void;
}

export function NewKey({ created, onClose }: NewKeyProps) {
  const t = useT();
  const { data: models } = useQuery({ ...modelsQuery, enabled: created !== undefined });
  const model = created && models && exampleModel(created, models.data);
  return (
    <Dialog
      title={t("keys.created.title")}
      description={t("keys.created.description")}
      isOpen={created !== undefined}
      ignoresEscape
      onClose={onClose}
    >
      {created && (
        <div className="flex flex-col gap-5">
          <div className="flex flex-col gap-3">
            <Value label={t("reference.key")} text={created.key} />
            <Value label={t("keys.created.baseUrl")} text={baseUrl()} />
          </div>
          {model && (
            <>
              <CodeSamples
                label={t("model.code")}
                request={{ ...sampleRequest(model), apiKey: created.key }}
              />
              <KeyTest apiKey={created.key} model={model} />
            </>
          )}
        </div>
      )}
    </Dialog>
  );
}

function Value({ label, text }: { label: string; text: string }) {
  return (
    <div className="flex flex-col gap-1">
      <p className="text-xs font-medium text-muted">{label}</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 rounded-md bg-sunken p-2 font-mono text-xs break-all">
          {text}
        </code>
        <CopyButton text={text} />
      </div>
    </div>
  );
}

/** The default model of the key, or the first that it may use. An embedding costs less than an image. */
function exampleModel(
  { models: globs, defaults }: CreatedApiKey,
  models: readonly ShownModel[],
): ShownModel | undefined {
  const usable = models.filter(({ id }) => globs.some((glob) => matchesGlob(glob, id)));
  return (
    usable.find(({ id }) => id === defaults.embedding) ??
    usable.find(({ kind }) => kind === "embedding") ??
    usable.find(({ id }) => id === defaults.image) ??
    usable[0]
  );
}
