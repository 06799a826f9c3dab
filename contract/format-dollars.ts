/** Amounts of money as people read them, in the console, in events and in messages. */

const usual = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

/** Amounts of a dollar and more: whole cents. */
const large = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

/** Amounts below a cent, such as the price of a short text. */
const small = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumSignificantDigits: 2,
});

export function formatDollars(amount: number): string {
  if (amount >= 1) return large.format(amount);
  return (amount > 0 && amount < 0.01 ? small : usual).format(amount);
}
