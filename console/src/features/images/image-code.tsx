/** The present request as code. */
import { useT } from "../../i18n/messages.ts";
import { CodeSamples } from "../../ui/code-samples.tsx";
import { bodyOf, fileName, type ImageParameters } from "./image-request.ts";

interface ImageCodeProps {
  readonly parameters: ImageParameters;
  readonly references: readonly Blob[];
  readonly hasMask: boolean;
}

export function ImageCode({ parameters, references, hasMask }: ImageCodeProps) {
  const t = useT();
  const body = bodyOf(parameters);
  const baseUrl = `${location.origin}/v1`;
  return (
    <details>
      <summary className="cursor-pointer">{t("action.copyAsCode")}</summary>
      <div className="mt-2">
        <CodeSamples
          label={t("action.copyAsCode")}
          request={
            references.length === 0
              ? { baseUrl, endpoint: "images/generations", body }
              : {
                  baseUrl,
                  endpoint: "images/edits",
                  body,
                  files: {
                    images: references.map((image, at) => fileName(at, image)),
                    ...(hasMask && { mask: "mask.png" }),
                  },
                }
          }
        />
      </div>
    </details>
  );
}
