/** The kind of a model and what it can do, as badges. */
import type { ShownModel } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";

export function Capabilities({ model }: { model: ShownModel }) {
  const t = useT();
  const { kind, dimensions, context_tokens, reads_images, options, edits } = model;
  const texts =
    kind === "embedding"
      ? [
          dimensions !== null && t("model.can.dimensions", { count: dimensions }),
          context_tokens !== null && t("model.can.context", { count: count(context_tokens) }),
          reads_images === true && t("model.can.images"),
        ]
      : [
          edits && t("model.can.edits"),
          edits?.mask && t("model.can.mask"),
          "stream" in options && t("model.can.stream"),
        ];
  return (
    <span className="flex flex-wrap gap-1 sm:flex-nowrap">
      <Badge tone="accent">{t(`model.kind.${kind}`)}</Badge>
      {texts
        .filter((text) => typeof text === "string")
        .map((text) => (
          <Badge key={text}>{text}</Badge>
        ))}
    </span>
  );
}
