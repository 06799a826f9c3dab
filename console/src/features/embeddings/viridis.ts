/** Viridis, from dark purple to yellow: readable with every kind of color blindness. */
type Rgb = readonly [red: number, green: number, blue: number];

const viridisStops: readonly Rgb[] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** The color of a share from 0 to 1. */
export function viridis(share: number): Rgb {
  const position = Math.min(1, Math.max(0, share)) * (viridisStops.length - 1);
  const index = Math.min(viridisStops.length - 2, Math.floor(position));
  const [from, to] = [viridisStops[index] as Rgb, viridisStops[index + 1] as Rgb];
  const between = (channel: 0 | 1 | 2): number =>
    Math.round(from[channel] + (to[channel] - from[channel]) * (position - index));
  return [between(0), between(1), between(2)];
}

/** For the background of a legend. */
export const viridisGradient = `linear-gradient(to right, ${viridisStops
  .map((color) => `rgb(${color.join(" ")})`)
  .join(", ")})`;
