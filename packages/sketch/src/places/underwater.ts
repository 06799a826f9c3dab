/** Underwater: light from above, weeds and corals at the sides, rising bubbles. */
import { type Color, mix, tone } from "../color.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { circle, num, path, polygon, rect, stroke } from "../svg.ts";
import { rolling, under } from "./terrain.ts";

export function underwater(stage: Stage, color: Color = "#1f8fae"): Layer[] {
  const { width, height, defs, phase, detail } = stage;
  const random = stage.random.fork("deep");
  const rays = Array.from({ length: 6 }, (_, i) => {
    const x = width * (0.1 + i * 0.16) + random.between(-30, 30) + sway(phase, i / 6) * 14;
    return polygon([
      [x, -10],
      [x + 50, -10],
      [x + 220, height * 0.86],
      [x + 40, height * 0.86],
    ]);
  });
  const sand = mix("#e6cf9a", color, 0.35);
  const back = rolling(random.fork("reef"), width, height * 0.84, 60, 3, 3);
  const floor = rolling(random.fork("floor"), width, height * 0.92, 20, 2);
  const weeds = Array.from({ length: scaledCount(stage, 26) }, (_, i) => {
    const edge = random.chance(0.7)
      ? random.chance(0.5)
        ? random.between(0, 0.24)
        : random.between(0.76, 1)
      : random.next();
    const [x, y, tall] = [edge * width, height * random.between(0.9, 1), random.between(80, 250)];
    const wave = sway(phase, i / 7) * 12;
    const shade = mix(random.pick(["#2f8a5a", "#5aa858", "#8a5aa8", "#c8566a"]), color, 0.25);
    return stroke(
      `M${num(x)} ${num(y)}C${num(x - 26 + wave)} ${num(y - tall * 0.35)} ${num(x + 30 - wave)} ${num(y - tall * 0.65)} ${num(x + wave)} ${num(y - tall)}`,
      shade,
      random.between(6, 13),
      { "stroke-opacity": 0.92 },
    );
  });
  const corals = Array.from({ length: scaledCount(stage, 7) }, () => {
    const [x, y, r] = [
      random.next() * width,
      height * random.between(0.91, 0.98),
      random.between(26, 58),
    ];
    const shade = mix(random.pick(["#f2857a", "#f4b25a", "#e070a8", "#a878d8"]), color, 0.16);
    return Array.from({ length: 5 }, (_, k) =>
      stroke(
        `M${num(x)} ${num(y)}Q${num(x + (k - 2) * r * 0.2)} ${num(y - r * 0.7)} ${num(x + (k - 2) * r * 0.5)} ${num(y - r * random.between(1, 1.5))}`,
        shade,
        r * 0.2,
      ),
    ).join("");
  });
  const bubbles = Array.from({ length: scaledCount(stage, 24) }, () => {
    const t = (random.next() + phase) % 1;
    const [x, r] = [random.next() * width, random.between(3, 11)];
    return circle(x + Math.sin(t * 12) * 8, height * (0.9 - t * 0.86), r, "#ffffff", {
      "fill-opacity": 0.16,
      stroke: "#ffffff",
      "stroke-opacity": 0.55,
      "stroke-width": 1.4,
    });
  });
  return [
    {
      name: "water",
      atmospheric: true,
      svg: rect(
        0,
        0,
        width,
        height,
        defs.linear([
          [0, mix(color, "#d8fff2", 0.62)],
          [0.3, mix(color, "#6fd8d8", 0.35)],
          [0.7, tone(color, -0.1)],
          [1, mix(tone(color, -0.22), "#0d2a55", 0.4)],
        ]),
      ),
    },
    {
      name: "rays",
      atmospheric: true,
      svg: path(
        rays.join(""),
        defs.vertical(
          [
            [0, "#f2fff4", 0.24],
            [1, "#f2fff4", 0],
          ],
          0,
          height * 0.86,
        ),
      ),
    },
    {
      name: "reef",
      svg: path(
        under(back, height),
        defs.vertical(
          [
            [0, mix(tone(color, -0.12), "#3f6f8a", 0.4)],
            [1, mix(tone(color, -0.2), "#20406a", 0.5)],
          ],
          height * 0.74,
          height,
        ),
      ),
    },
    {
      name: "sea floor",
      svg: path(
        under(floor, height),
        defs.vertical(
          [
            [0, sand],
            [1, tone(sand, -0.16)],
          ],
          height * 0.9,
          height,
        ),
      ),
    },
    { name: "weeds", svg: weeds.join("") + corals.join("") },
    { name: "bubbles", atmospheric: true, svg: detail > 0 ? bubbles.join("") : "" },
  ];
}
