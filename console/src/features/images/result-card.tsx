/** The images of one model, or its error, with time and cost. */
import { useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { saveFile } from "../../lib/save-file.ts";
import { BlobImage } from "../../ui/blob-image.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Loading } from "../../ui/states.tsx";
import type { ImageRun } from "./use-image-runs.ts";

interface ResultCardProps {
  readonly run: ImageRun;
  readonly onEdit: (image: Blob) => void;
}

export function ResultCard({
  run: { request, partial, result, cost = null, error },
  onEdit,
}: ResultCardProps) {
  const t = useT();
  return (
    <Card
      title={<span className="font-mono text-xs">{request.model}</span>}
      actions={
        result && (
          <span className="text-xs text-muted">
            {milliseconds(result.durationMs)} · {dollars(cost)}
          </span>
        )
      }
    >
      <div className="flex flex-col gap-3 p-4">
        {error !== undefined && (
          <p role="alert" className="break-words text-bad">
            {error}
          </p>
        )}
        {!result && error === undefined && !partial && <Loading />}
        {!result && partial && (
          <BlobImage
            blob={partial}
            alt={t("images.partial")}
            className="w-full rounded opacity-80"
          />
        )}
        {result?.images.map((image, at) => (
          <figure key={`${at} ${image.size}`} className="flex flex-col gap-1">
            <BlobImage blob={image} alt={request.prompt} className="w-full rounded" />
            <div className="flex gap-2">
              <Button
                size="small"
                onClick={() => saveFile(`vexel-${at + 1}.${extensionOf(image)}`, image)}
              >
                {t("action.download")}
              </Button>
              <Button size="small" onClick={() => onEdit(image)}>
                {t("images.editThis")}
              </Button>
            </div>
          </figure>
        ))}
        {result?.adapted && (
          <p className="text-xs text-muted">{t("images.adapted", { options: result.adapted })}</p>
        )}
        {result?.dropped && (
          <p className="text-xs text-warn">{t("images.dropped", { options: result.dropped })}</p>
        )}
      </div>
    </Card>
  );
}

export const extensionOf = ({ type }: Blob): string => type.split("/").at(-1) || "png";
