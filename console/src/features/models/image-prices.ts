/** Prices of images by quality and size, as lines of text: `high 1024x1024 = 0.17`. */

/** Undefined if a line is not a price. */
export function parseImagePrices(text: string): Record<string, number> | undefined {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const prices = lines.map((line): [string, number] => {
    // The name may have an equals sign of its own: `<=1024x1024 = 0.04`.
    const at = line.lastIndexOf("=");
    return [
      line.slice(0, at).trim(),
      at < 0 ? Number.NaN : Number(line.slice(at + 1) || Number.NaN),
    ];
  });
  return prices.every(([name, price]) => name !== "" && price >= 0)
    ? Object.fromEntries(prices)
    : undefined;
}

export const formatImagePrices = (prices: Readonly<Record<string, number>>): string =>
  Object.entries(prices)
    .map(([name, price]) => `${name} = ${price}`)
    .join("\n");
