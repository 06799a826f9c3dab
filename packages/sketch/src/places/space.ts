/** Outer space: nebulas, stars, planets. */
import { type Color, mix, tone } from "../color.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { circle, ellipse, group, num, path, rect } from "../svg.ts";

/** Nebulas, stars of several sizes, one or two planets. Replaces sky and ground. */
export function space(stage: Stage, colors: readonly Color[] = []): Layer[] {
  const { width, height, defs, phase } = stage;
  const random = stage.random.fork("space");
  const tints =
    colors.length > 0
      ? colors
      : [
          random.pick(["#7a4fd0", "#3f6fe0", "#d04f9a"]),
          random.pick(["#2fa8c8", "#e0748a", "#5f4fd0"]),
        ];
  const gas = Array.from({ length: 13 }, (_, i) => {
    const t = i / 12;
    const color = tints[i % tints.length] ?? "#7a4fd0";
    const [x, y] = [
      width * (t + random.between(-0.2, 0.2)),
      height * (0.75 - t * 0.55 + random.between(-0.16, 0.16)),
    ];
    return ellipse(
      x,
      y,
      width * random.between(0.18, 0.36),
      height * random.between(0.1, 0.22),
      defs.radial([
        [0, tone(color, 0.08), 0.42],
        [0.5, color, 0.2],
        [1, color, 0],
      ]),
      { transform: `rotate(-28 ${num(x)} ${num(y)})` },
    );
  });
  const stars = [0.5, 0.75, 1].map((bright, level) => {
    let d = "";
    for (let i = 0; i < scaledCount(stage, 110); i++) {
      const [x, y, r] = [
        random.between(0, width),
        random.between(0, height),
        random.between(0.7, 1.5) + level * 0.4,
      ];
      d += `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(r * 2)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-r * 2)} 0Z`;
    }
    return path(d, level === 1 ? "#dfe8ff" : "#fffaf0", {
      "fill-opacity": bright * (0.8 + 0.2 * sway(phase, level / 3)),
    });
  });
  const world = (x: number, y: number, r: number, color: Color): string => {
    const clip = defs.clip(circle(x, y, r, "#000000"));
    const bands = Array.from(
      { length: 6 },
      (_, i) =>
        `M${num(x - r)} ${num(y - r + (i + 0.3) * r * 0.36)}q${num(r * 0.5)} ${num(-r * 0.1)} ${num(r)} 0t${num(r)} 0v${num(r * 0.14)}q${num(-r * 0.5)} ${num(r * 0.1)} ${num(-r)} 0t${num(-r)} 0Z`,
    ).join("");
    return (
      circle(
        x,
        y,
        r * 1.5,
        defs.radial([
          [0.5, color, 0.35],
          [1, color, 0],
        ]),
      ) +
      circle(
        x,
        y,
        r,
        defs.radial(
          [
            [0, tone(color, 0.14)],
            [0.6, color],
            [1, tone(color, -0.2)],
          ],
          [0.32, 0.3, 0.8],
        ),
      ) +
      group({ "clip-path": clip }, path(bands, tone(color, 0.08), { "fill-opacity": 0.35 })) +
      circle(
        x,
        y,
        r,
        defs.radial(
          [
            [0.55, "#05030f", 0],
            [1, "#05030f", 0.7],
          ],
          [0.32, 0.3, 0.85],
        ),
      )
    );
  };
  const right = random.sign();
  return [
    {
      name: "sky",
      atmospheric: true,
      svg: rect(
        0,
        0,
        width,
        height,
        defs.linear(
          [
            [0, "#070517"],
            [0.5, mix("#0b0a2a", tints[0] ?? "#0b0a2a", 0.12)],
            [1, "#0a0820"],
          ],
          [0, 0, 1, 1],
        ),
      ),
    },
    { name: "gas", atmospheric: true, svg: gas.join("") },
    { name: "stars", atmospheric: true, svg: stars.join("") },
    {
      name: "worlds",
      svg:
        world(
          width * (0.5 + right * 0.34),
          height * 0.24,
          92,
          random.pick(["#d98a5a", "#6f9ad8", "#c06a8a", "#5fae9a"]),
        ) +
        world(
          width * (0.5 - right * 0.38),
          height * 0.7,
          38,
          random.pick(["#b8a8e0", "#e0c078", "#8ac0c8"]),
        ),
    },
  ];
}
