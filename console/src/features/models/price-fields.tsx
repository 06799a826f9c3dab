/** The prices of a model or of a target. The vendor's list price is the placeholder, with its source. */
import { useQuery } from "@tanstack/react-query";
import type { ListedPrice } from "../../../../contract/admin.ts";
import type { ModelKind } from "../../../../contract/model-kinds.ts";
import { priceKeys } from "../../../../contract/schemas/prices.ts";
import { call } from "../../api/client.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { NumberField, TextField } from "../../ui/form-fields.tsx";

interface PriceFieldsProps {
  /** Such as `price`, or `targets.0.price`. */
  readonly name: string;
  readonly kind: ModelKind;
  readonly label: string;
  readonly hint?: string;
  /** Whose list price is shown. */
  readonly target?: { readonly upstream?: string; readonly model?: string } | undefined;
}

export function PriceFields({ name, kind, label, hint, target }: PriceFieldsProps) {
  const t = useT();
  const { upstream, model } = target ?? {};
  const { data: listed } = useQuery({
    queryKey: ["listed-price", kind, upstream, model],
    queryFn: () =>
      call<ListedPrice>(
        `/listed-price?${new URLSearchParams({ kind, upstream: upstream ?? "", model: model ?? "" })}`,
      ),
    enabled: Boolean(upstream && model),
  });
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="sr-only">{label}</legend>
      {hint !== undefined && <p className="text-xs text-muted sm:col-span-2">{hint}</p>}
      {priceKeys[kind]
        .filter((key) => key !== "images")
        .map((key) => (
          <NumberField
            key={key}
            name={`${name}.${key}`}
            label={t(`models.form.price.${key}` as MessageKey)}
            placeholder={listed?.price?.[key]?.toString() ?? ""}
          />
        ))}
      {kind === "image" && (
        <div className="sm:col-span-2">
          <TextField
            name={`${name}.images`}
            label={t("models.form.price.images")}
            hint={t("models.form.price.imagesHint")}
            rows={2}
          />
        </div>
      )}
      {listed?.source && (
        <p className="text-xs break-words text-muted sm:col-span-2">
          {t("models.form.listed", { source: listed.source })}
        </p>
      )}
    </fieldset>
  );
}
