/** Terrain: smooth and jagged horizon lines, and rows of trees along them. */
import { noise1, type Random } from "../random.ts";
import { curve, num, type Point } from "../svg.ts";

/** A rolling line across the whole width. */
export function rolling(
  random: Random,
  width: number,
  y: number,
  height: number,
  bumps: number,
  octaves = 2,
): Point[] {
  const noise = noise1(random, octaves, 0.4);
  const steps = Math.max(10, Math.round(bumps * 5));
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = i / steps;
    return [t * (width + 40) - 20, y - noise(t * bumps) * height] as const;
  });
}

/** A jagged line with sharp peaks, like an eroded ridge. */
export function jagged(
  random: Random,
  width: number,
  y: number,
  height: number,
  bumps: number,
): Point[] {
  const noise = noise1(random, 5, 0.5);
  const steps = 110;
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = i / steps;
    return [t * (width + 40) - 20, y - (1 - Math.abs(noise(t * bumps)) * 1.6) * height] as const;
  });
}

export const under = (line: readonly Point[], bottom: number, smooth = true): string => {
  const first = line[0] ?? [0, bottom];
  const last = line.at(-1) ?? [0, bottom];
  const top = smooth ? curve(line) : `M${line.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}`;
  return `${top}L${num(last[0])} ${num(bottom)}L${num(first[0])} ${num(bottom)}Z`;
};

/** The height of a line at x. */
export function heightAt(line: readonly Point[], x: number): number {
  for (let i = 1; i < line.length; i++) {
    const [a, b] = [line[i - 1], line[i]];
    if (a !== undefined && b !== undefined && b[0] >= x) {
      const t = (x - a[0]) / (b[0] - a[0] || 1);
      return a[1] + (b[1] - a[1]) * t;
    }
  }
  return line.at(-1)?.[1] ?? 0;
}

export function conifer(random: Random, x: number, y: number, height: number): string {
  const tiers = height > 46 ? 6 : 4;
  const half = height * random.between(0.17, 0.23);
  const right: string[] = [];
  const left: string[] = [];
  for (let i = 1; i <= tiers; i++) {
    const t = i / tiers;
    const reach = half * (0.2 + t * 0.8) * random.between(0.9, 1.1);
    const level = y - height * (1 - t * 0.9);
    const inner = reach * 0.5;
    right.push(
      `${num(x + reach)} ${num(level)}L${num(x + (i < tiers ? inner : half * 0.12))} ${num(level - height * 0.02)}`,
    );
    left.unshift(
      `${num(x - (i < tiers ? inner : half * 0.12))} ${num(level - height * 0.02)}L${num(x - reach)} ${num(level)}`,
    );
  }
  return `M${num(x)} ${num(y - height)}L${right.join("L")}L${num(x + half * 0.12)} ${num(y + 2)}L${num(x - half * 0.12)} ${num(y + 2)}L${left.join("L")}Z`;
}

export function leafy(random: Random, x: number, y: number, height: number): string {
  const r = height * 0.3;
  let d = `M${num(x - height * 0.04)} ${num(y + 2)}L${num(x - height * 0.03)} ${num(y - height * 0.5)}L${num(x + height * 0.03)} ${num(y - height * 0.5)}L${num(x + height * 0.04)} ${num(y + 2)}Z`;
  for (const [dx, dy, scale] of [
    [0, 0.68, 1],
    [-0.22, 0.54, 0.72],
    [0.22, 0.54, 0.72],
    [-0.12, 0.8, 0.66],
    [0.13, 0.78, 0.62],
  ] as const) {
    const size = r * scale * random.between(0.9, 1.1);
    const [cx, cy] = [x + dx * height, y - dy * height];
    d += `M${num(cx - size)} ${num(cy)}a${num(size)} ${num(size)} 0 1 1 ${num(size * 2)} 0a${num(size)} ${num(size)} 0 1 1 ${num(-size * 2)} 0Z`;
  }
  return d;
}

export type TreeShape = (random: Random, x: number, y: number, height: number) => string;

/** Clusters of trees along a line, as one path. */
export function treesAlong(
  random: Random,
  line: readonly Point[],
  width: number,
  count: number,
  height: number,
  shape: TreeShape,
): string {
  const thick = noise1(random.fork("thick"), 2);
  let d = "";
  for (let i = 0; i < count; i++) {
    const x = random.between(-10, width + 10);
    if (thick((x / width) * 5) < random.between(-0.7, 0.25)) continue;
    d += shape(random, x, heightAt(line, x) + height * 0.06, height * random.between(0.55, 1.1));
  }
  return d;
}
