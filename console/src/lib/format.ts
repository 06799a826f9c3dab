/** Numbers as people read them. Unknown is a dash, never 0. */

const unknown = "–";
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

/** Amounts of a dollar and more: whole cents. */
const largeMoney = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

/** Amounts below a cent, such as the price of a short text. */
const smallMoney = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumSignificantDigits: 2,
});

export const count = (value: number | null): string =>
  value === null ? unknown : compact.format(value);

export const dollars = (value: number | null): string =>
  value === null ? unknown : moneyOf(value).format(value);

function moneyOf(value: number): Intl.NumberFormat {
  if (value >= 1) return largeMoney;
  return value > 0 && value < 0.01 ? smallMoney : money;
}

export const percent = (share: number | null): string =>
  share === null ? unknown : `${(share * 100).toFixed(1)}%`;

export const milliseconds = (ms: number | null): string => {
  if (ms === null) return unknown;
  return ms < 1000
    ? `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`
    : `${(ms / 1000).toFixed(1)} s`;
};

/** A long time, such as the rest of a job. */
export function duration(ms: number | null): string {
  if (ms === null) return unknown;
  const minutes = Math.floor(ms / 60_000);
  if (minutes === 0) return `${Math.ceil(ms / 1000)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function bytes(value: number): string {
  const power = Math.min(units.length - 1, value < 1000 ? 0 : Math.floor(Math.log10(value) / 3));
  return new Intl.NumberFormat("en-US", {
    style: "unit",
    unit: units[power] ?? "byte",
    maximumFractionDigits: 1,
  }).format(value / 1000 ** power);
}
