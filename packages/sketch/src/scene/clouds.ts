/** Clouds: cumulus, each a single path, and long streaks that are lit by a low sun. */
import { mix } from "../color.ts";
import { sway } from "../subjects/subject.ts";
import { group, num, path } from "../svg.ts";
import { type Stage, scaledCount } from "./stage.ts";

const disc = (x: number, y: number, r: number): string =>
  `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 1 ${num(r * 2)} 0a${num(r)} ${num(r)} 0 1 1 ${num(-r * 2)} 0Z`;

/** One cumulus cloud: overlapping discs on a flat base, bright at the top and fading out at the bottom. */
export function cloud(stage: Stage, x: number, y: number, width: number, label: string): string {
  const random = stage.random.fork(label);
  const { palette, defs, sun } = stage;
  const crown = random.between(0.34, 0.66);
  const height = width * random.between(0.22, 0.36);
  const count = random.integer(8, 11);
  const puffs = Array.from({ length: count }, (_, i) => {
    const t = (i + random.between(0.25, 0.75)) / count;
    const slope = t < crown ? t / crown : (1 - t) / (1 - crown);
    const rise = Math.sin((slope * Math.PI) / 2) ** 1.2 * random.between(0.72, 1.12);
    const r = height * (0.21 + rise * 0.24);
    return { x: x + (t - 0.5) * width * 0.8, y: y - r * 0.5 - rise * height * 0.44, r };
  });
  const foot = (inset: number): string =>
    `M${num(x - width * (0.5 - inset))} ${num(y)}Q${num(x - width * (0.5 - inset))} ${num(y - height * 0.2)} ${num(x - width * 0.36)} ${num(y - height * 0.22)}H${num(x + width * 0.36)}Q${num(x + width * (0.5 - inset))} ${num(y - height * 0.2)} ${num(x + width * (0.5 - inset))} ${num(y)}Z`;
  const towards = Math.sign(sun.x - x) * 0.16;
  const [top, shade] = [palette.cloudLit, palette.cloudShade];
  const body = puffs.map((p) => disc(p.x, p.y, p.r)).join("") + foot(0);
  const bright = puffs.map((p) => disc(p.x + p.r * towards, p.y - p.r * 0.07, p.r * 0.82)).join("");
  return (
    path(
      body,
      defs.linear([
        [0, mix(top, shade, 0.3)],
        [0.7, shade, 0.95],
        [1, mix(shade, palette.haze, 0.4), 0.25],
      ]),
    ) +
    path(
      bright,
      defs.linear([
        [0, top],
        [0.55, top, 0.8],
        [1, top, 0],
      ]),
    )
  );
}

export function cloudField(stage: Stage, amount: number): string {
  const random = stage.random.fork("clouds");
  const { width, horizon, palette, phase } = stage;
  const count = Math.round(amount);
  const shapes = Array.from({ length: count }, (_, i) => {
    const depth = (i + 0.5) / count;
    const size = (110 + depth * 330) * random.between(0.7, 1.2);
    const x =
      ((i * 0.618 + random.between(-0.1, 0.1) + random.between(0, 0.2)) % 1) * (width + 200) - 100;
    const y = horizon * (0.84 - depth * 0.62) + random.between(-30, 30);
    const drift = sway(phase, depth) * (6 + depth * 14);
    return group(
      { transform: `translate(${num(drift)} 0)` },
      cloud(stage, x, y, size, `cloud ${i}`),
    );
  });
  return (palette.sunHeight < 0.4 ? streakField(stage) : "") + shapes.join("");
}

function streakField(stage: Stage): string {
  const random = stage.random.fork("streaks");
  const { width, horizon, palette, sun } = stage;
  return Array.from({ length: scaledCount(stage, 9) }, (_, i) => {
    const y = horizon * random.between(0.3, 0.96);
    const x = random.between(-0.15, 0.95) * width + sway(stage.phase, i / 9) * 10;
    const [length, thick] = [random.between(0.2, 0.6) * width, random.between(4, 15)];
    const near = 1 - Math.min(1, Math.abs(x + length / 2 - sun.x) / (width * 0.7));
    const d = `M${num(x)} ${num(y)}Q${num(x + length * 0.3)} ${num(y - thick)} ${num(x + length * 0.55)} ${num(y - thick * 0.5)}T${num(x + length)} ${num(y - thick * 0.2)}Q${num(x + length * 0.6)} ${num(y + thick * 0.6)} ${num(x)} ${num(y)}Z`;
    return path(d, mix(palette.cloudShade, palette.cloudLit, near), {
      "fill-opacity": random.between(0.35, 0.7),
    });
  }).join("");
}
