import type { PricePart, ShownPrice } from "../../../../contract/admin.ts";
import type { Translate } from "../../i18n/messages.ts";

/** $0.10, $0.0025 and $30. */
const price = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 8,
  trailingZeroDisplay: "stripIfInteger",
});
const dollars = (amount: number): string => price.format(Number(amount.toPrecision(6)));

function partText({ from, to, unit }: PricePart, t: Translate): string {
  if (to === 0) return t("price.free");
  const amount = from === to ? dollars(from) : `${dollars(from)} – ${dollars(to)}`;
  return t(`price.${unit}`, { amount });
}

/** Such as `$0.02 per million tokens`. */
export const priceText = (prices: readonly ShownPrice[], t: Translate): string =>
  prices.length === 0
    ? t("state.unknown")
    : prices
        .map(({ parts }) => parts.map((each) => partText(each, t)).join(" + "))
        .join(t("price.or"));
