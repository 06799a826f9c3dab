/** Weather layers: lightning behind the land; rain, snow, fog and wind in front of everything. */

import { sway } from "../subjects/subject.ts";
import { num, type Point, path, polyline, rect, stroke } from "../svg.ts";
import type { Weather } from "./palette.ts";
import { type Layer, type Stage, scaledCount } from "./stage.ts";

/** The weather behind the land. */
export const skyWeather = (stage: Stage, kinds: readonly Weather[]): Layer[] =>
  kinds.includes("storm") ? [{ name: "lightning", atmospheric: true, svg: lightning(stage) }] : [];

export function fallingWeather(stage: Stage, kinds: readonly Weather[]): Layer[] {
  return kinds.flatMap((kind): Layer[] => {
    if (kind === "rain") return [{ name: "rain", atmospheric: true, svg: rain(stage, 1) }];
    if (kind === "storm") return [{ name: "storm", atmospheric: true, svg: rain(stage, 1.4) }];
    if (kind === "snow") return [{ name: "snowfall", atmospheric: true, svg: snowfall(stage) }];
    if (kind === "fog") return [{ name: "fog", atmospheric: true, svg: fog(stage) }];
    if (kind === "wind") return [{ name: "wind", atmospheric: true, svg: wind(stage) }];
    return [];
  });
}

/** In one loop of an animation drops fall by one image height, so that the loop has no jump. */
function rain(stage: Stage, strength: number): string {
  const { width, height, phase } = stage;
  const random = stage.random.fork("rain");
  const slant = 0.22;
  return [0, 1]
    .map((near) => {
      let d = "";
      for (let i = 0; i < scaledCount(stage, (170 - near * 70) * strength * (width / 1000)); i++) {
        const y = ((random.next() + phase) % 1) * (height + 80) - 60;
        const x = random.between(-0.1, 1.1) * width - (y / height) * 60;
        const length = random.between(18, 34) * (1 + near * 0.9);
        d += `M${num(x)} ${num(y)}l${num(-length * slant)} ${num(length)}`;
      }
      return stroke(d, "#e8f1f8", 1.4 + near * 1.1, { "stroke-opacity": 0.34 + near * 0.16 });
    })
    .join("");
}

function snowfall(stage: Stage): string {
  const { width, height, phase } = stage;
  const random = stage.random.fork("snowfall");
  return [0, 1, 2]
    .map((size) => {
      let d = "";
      for (let i = 0; i < scaledCount(stage, (130 - size * 40) * (width / 1000)); i++) {
        const [start, lane] = [random.next(), random.between(-0.05, 1.05) * width];
        const y = ((start + phase) % 1) * (height + 30) - 15;
        const x = lane + Math.sin((start + phase) * Math.PI * 2) * 14;
        const r = random.between(1.6, 3) * (1 + size * 0.8);
        d += `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(r * 2)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-r * 2)} 0Z`;
      }
      return path(d, "#ffffff", { "fill-opacity": 0.62 + size * 0.12 });
    })
    .join("");
}

function fog(stage: Stage): string {
  const { width, height, horizon, palette, defs, phase } = stage;
  return [0, 1, 2, 3]
    .map((i) => {
      const y = horizon - 150 + i * ((height - horizon) * 0.3 + 30) + sway(phase, i / 4) * 10;
      return rect(
        -20,
        y,
        width + 40,
        260,
        defs.linear([
          [0, palette.haze, 0],
          [0.5, palette.haze, 0.6 - i * 0.1],
          [1, palette.haze, 0],
        ]),
      );
    })
    .join("");
}

function lightning(stage: Stage): string {
  const { width, horizon, phase, defs, height } = stage;
  const random = stage.random.fork("lightning");
  const strike = (start: Point, drop: number, spread: number): Point[] => {
    const points: Point[] = [start];
    for (let i = 1; i <= 9; i++) {
      const before = points.at(-1) ?? start;
      points.push([before[0] + random.between(-spread, spread), start[1] + (drop * i) / 9]);
    }
    return points;
  };
  const bolt = strike([width * random.between(0.25, 0.75), 0], horizon * 0.92, 46);
  const fork = strike(bolt[4] ?? [0, 0], horizon * 0.34, 44);
  // In an animation the lightning flashes twice and fades.
  const flash = phase === 0 || (phase > 0.42 && phase < 0.56) ? 1 : 0.12;
  return (
    rect(
      0,
      0,
      width,
      height,
      defs.vertical(
        [
          [0, "#dfe4ff", 0.28 * flash],
          [1, "#dfe4ff", 0],
        ],
        0,
        horizon,
      ),
    ) +
    stroke(polyline(bolt) + polyline(fork), "#b9c4ff", 12, { "stroke-opacity": 0.28 * flash }) +
    stroke(polyline(bolt), "#fdfcff", 4.4, { "stroke-opacity": flash }) +
    stroke(polyline(fork), "#fdfcff", 2.4, { "stroke-opacity": flash })
  );
}

function wind(stage: Stage): string {
  const { width, horizon, phase } = stage;
  const random = stage.random.fork("wind");
  const d = Array.from({ length: scaledCount(stage, 9) }, () => {
    const y = random.between(0.15, 1) * horizon;
    const length = random.between(140, 300);
    const x = ((random.next() + phase) % 1) * (width + length) - length;
    return `M${num(x)} ${num(y)}q${num(length * 0.4)} -14 ${num(length * 0.8)} 0q${num(length * 0.24)} 8 ${num(length * 0.2)} -16q-8 -16 -22 -4`;
  });
  return stroke(d.join(""), "#ffffff", 3, { "stroke-opacity": 0.45 });
}
