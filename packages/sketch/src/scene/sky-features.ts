/** Sky features: rainbow, northern lights, Milky Way, comet, distant birds, fireworks. */
import { tone } from "../color.ts";
import { sway } from "../subjects/subject.ts";
import { circle, curve, ellipse, num, type Point, path, stroke } from "../svg.ts";
import { lit } from "./palette.ts";
import { type Stage, scaledCount } from "./stage.ts";

export function rainbow({ width, horizon, sun }: Stage): string {
  const x = sun.x < width / 2 ? width * 0.66 : width * 0.34;
  const r = Math.min(width * 0.46, horizon * 0.84);
  return ["#e8564f", "#f2994a", "#f4d35e", "#6fbf73", "#4fa3d8", "#7b6fd0"]
    .map((color, i) =>
      circle(x, horizon + r * 0.12, r - i * 13, "none", {
        stroke: color,
        "stroke-width": 14,
        "stroke-opacity": 0.42,
      }),
    )
    .join("");
}

export function aurora(stage: Stage): string {
  const random = stage.random.fork("aurora");
  const { width, horizon, defs, phase } = stage;
  return ["#4ff0b0", "#5fd0f0", "#b07df0"]
    .map((color, band) => {
      const top: Point[] = [];
      const foot: Point[] = [];
      for (let i = 0; i <= 14; i++) {
        const x = (i / 14) * (width + 200) - 100;
        const wave =
          Math.sin(i * 0.9 + band * 2 + sway(phase, band / 3) * 0.7) * 46 +
          Math.sin(i * 0.37 + band) * 60;
        const y = horizon * (0.36 + band * 0.1) + wave;
        foot.push([x, y]);
        top.push([x + 40, y - horizon * random.between(0.24, 0.4)]);
      }
      return path(
        `${curve(foot)}L${curve(top.reverse()).slice(1)}Z`,
        defs.linear([
          [0, color, 0],
          [0.7, color, 0.3],
          [0.95, color, 0.55],
          [1, color, 0],
        ]),
      );
    })
    .join("");
}

export function galaxy(stage: Stage): string {
  const random = stage.random.fork("galaxy");
  const { width, horizon, defs } = stage;
  return Array.from({ length: 16 }, (_, i) => {
    const t = i / 15;
    const color = random.pick(["#8a6fd8", "#5f8fe0", "#e08ac0", "#f0d8b0"]);
    return ellipse(
      width * (0.05 + t * 0.9) + random.between(-40, 40),
      horizon * (0.9 - t * 0.8) + random.between(-40, 40),
      random.between(120, 240),
      random.between(60, 120),
      defs.radial([
        [0, color, 0.3],
        [1, color, 0],
      ]),
    );
  }).join("");
}

export function comet({ width, horizon, defs }: Stage): string {
  const [x, y] = [width * 0.3, horizon * 0.36];
  return (
    path(
      `M${num(x)} ${num(y)}L${num(x + 300)} ${num(y - 176)}L${num(x + 12)} ${num(y + 9)}Z`,
      defs.linear(
        [
          [0, "#fffbe8", 0.9],
          [1, "#fffbe8", 0],
        ],
        [0, 1, 1, 0],
      ),
    ) + circle(x + 4, y + 3, 8, "#fffdf2")
  );
}

export function distantBirds(stage: Stage): string {
  const random = stage.random.fork("far birds");
  const [cx, cy] = [
    stage.width * random.between(0.25, 0.7),
    stage.horizon * random.between(0.3, 0.6),
  ];
  const ink = lit(stage.palette, "#2f2c44");
  return Array.from({ length: 6 }, (_, i) => {
    const [x, y, r] = [
      cx + (i - 2.5) * 34 + random.between(-10, 10),
      cy + Math.abs(i - 2.5) * 14 + random.between(-8, 8),
      random.between(8, 14),
    ];
    const lift = r * (0.7 + 0.3 * sway(stage.phase, i / 6));
    return stroke(
      `M${num(x - r)} ${num(y - lift * 0.5)}Q${num(x - r * 0.4)} ${num(y - lift)} ${num(x)} ${num(y)}Q${num(x + r * 0.4)} ${num(y - lift)} ${num(x + r)} ${num(y - lift * 0.5)}`,
      ink,
      2.4,
    );
  }).join("");
}

export function fireworks(stage: Stage): string {
  const random = stage.random.fork("fireworks");
  const { width, horizon, phase } = stage;
  return Array.from({ length: scaledCount(stage, 4) }, (_, burst) => {
    const [x, y, reach] = [
      width * random.between(0.12, 0.88),
      horizon * random.between(0.12, 0.55),
      random.between(70, 150),
    ];
    const color = random.pick(["#ffd257", "#ff7a8a", "#7de0ff", "#b48aff", "#8affb0"]);
    const open = 0.62 + 0.38 * ((phase + burst / 4) % 1);
    let lines = "";
    let tips = "";
    for (let i = 0; i < 18; i++) {
      const angle = (i / 18) * Math.PI * 2;
      const far = reach * open * random.between(0.85, 1.1);
      lines += `M${num(x + Math.cos(angle) * far * 0.3)} ${num(y + Math.sin(angle) * far * 0.3)}L${num(x + Math.cos(angle) * far)} ${num(y + Math.sin(angle) * far + far * 0.06)}`;
      tips += circle(
        x + Math.cos(angle) * far,
        y + Math.sin(angle) * far + far * 0.06,
        3.4,
        tone(color, 0.1),
      );
    }
    return stroke(lines, color, 2.4, { "stroke-opacity": 0.8 }) + tips;
  }).join("");
}
