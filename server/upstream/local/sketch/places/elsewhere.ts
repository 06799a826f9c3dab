/** Places without an ordinary sky: open space, under the sea, above the clouds, the neon grid. */
import { cloud } from "../clouds.ts";
import { type Colour, mix, tone } from "../colour.ts";
import { type Layer, many, type Stage } from "../stage.ts";
import { sway } from "../subjects/subject.ts";
import { circle, ellipse, group, num, path, polygon, rect, stroke } from "../svg.ts";
import { rolling, under } from "./relief.ts";

/** Clouds of gas, stars at all depths, a world or two. Replaces sky and ground. */
export function space(stage: Stage, colours: readonly Colour[] = []): Layer[] {
  const { width, height, sheet, phase } = stage;
  const random = stage.random.fork("space");
  const tints =
    colours.length > 0
      ? colours
      : [
          random.pick(["#7a4fd0", "#3f6fe0", "#d04f9a"]),
          random.pick(["#2fa8c8", "#e0748a", "#5f4fd0"]),
        ];
  const gas = Array.from({ length: 13 }, (_, i) => {
    const t = i / 12;
    const colour = tints[i % tints.length] ?? "#7a4fd0";
    const [x, y] = [
      width * (t + random.between(-0.2, 0.2)),
      height * (0.75 - t * 0.55 + random.between(-0.16, 0.16)),
    ];
    return ellipse(
      x,
      y,
      width * random.between(0.18, 0.36),
      height * random.between(0.1, 0.22),
      sheet.radial([
        [0, tone(colour, 0.08), 0.42],
        [0.5, colour, 0.2],
        [1, colour, 0],
      ]),
      { transform: `rotate(-28 ${num(x)} ${num(y)})` },
    );
  });
  const stars = [0.5, 0.75, 1].map((bright, level) => {
    let d = "";
    for (let i = 0; i < many(stage, 110); i++) {
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
  const world = (x: number, y: number, r: number, colour: Colour): string => {
    const clip = sheet.clip(circle(x, y, r, "#000000"));
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
        sheet.radial([
          [0.5, colour, 0.35],
          [1, colour, 0],
        ]),
      ) +
      circle(
        x,
        y,
        r,
        sheet.radial(
          [
            [0, tone(colour, 0.14)],
            [0.6, colour],
            [1, tone(colour, -0.2)],
          ],
          [0.32, 0.3, 0.8],
        ),
      ) +
      group({ "clip-path": clip }, path(bands, tone(colour, 0.08), { "fill-opacity": 0.35 })) +
      circle(
        x,
        y,
        r,
        sheet.radial(
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
      air: true,
      svg: rect(
        0,
        0,
        width,
        height,
        sheet.linear(
          [
            [0, "#070517"],
            [0.5, mix("#0b0a2a", tints[0] ?? "#0b0a2a", 0.12)],
            [1, "#0a0820"],
          ],
          [0, 0, 1, 1],
        ),
      ),
    },
    { name: "gas", air: true, svg: gas.join("") },
    { name: "stars", air: true, svg: stars.join("") },
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

export function underwater(stage: Stage, colour: Colour = "#1f8fae"): Layer[] {
  const { width, height, sheet, phase, detail } = stage;
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
  const sand = mix("#e6cf9a", colour, 0.35);
  const back = rolling(random.fork("reef"), width, height * 0.84, 60, 3, 3);
  const floor = rolling(random.fork("floor"), width, height * 0.92, 20, 2);
  const weeds = Array.from({ length: many(stage, 26) }, (_, i) => {
    const edge = random.chance(0.7)
      ? random.chance(0.5)
        ? random.between(0, 0.24)
        : random.between(0.76, 1)
      : random.next();
    const [x, y, tall] = [edge * width, height * random.between(0.9, 1), random.between(80, 250)];
    const wave = sway(phase, i / 7) * 12;
    const shade = mix(random.pick(["#2f8a5a", "#5aa858", "#8a5aa8", "#c8566a"]), colour, 0.25);
    return stroke(
      `M${num(x)} ${num(y)}C${num(x - 26 + wave)} ${num(y - tall * 0.35)} ${num(x + 30 - wave)} ${num(y - tall * 0.65)} ${num(x + wave)} ${num(y - tall)}`,
      shade,
      random.between(6, 13),
      { "stroke-opacity": 0.92 },
    );
  });
  const corals = Array.from({ length: many(stage, 7) }, () => {
    const [x, y, r] = [
      random.next() * width,
      height * random.between(0.91, 0.98),
      random.between(26, 58),
    ];
    const shade = mix(random.pick(["#f2857a", "#f4b25a", "#e070a8", "#a878d8"]), colour, 0.16);
    return Array.from({ length: 5 }, (_, k) =>
      stroke(
        `M${num(x)} ${num(y)}Q${num(x + (k - 2) * r * 0.2)} ${num(y - r * 0.7)} ${num(x + (k - 2) * r * 0.5)} ${num(y - r * random.between(1, 1.5))}`,
        shade,
        r * 0.2,
      ),
    ).join("");
  });
  const bubbles = Array.from({ length: many(stage, 24) }, () => {
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
      air: true,
      svg: rect(
        0,
        0,
        width,
        height,
        sheet.linear([
          [0, mix(colour, "#d8fff2", 0.62)],
          [0.3, mix(colour, "#6fd8d8", 0.35)],
          [0.7, tone(colour, -0.1)],
          [1, mix(tone(colour, -0.22), "#0d2a55", 0.4)],
        ]),
      ),
    },
    {
      name: "rays",
      air: true,
      svg: path(
        rays.join(""),
        sheet.vertical(
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
        sheet.vertical(
          [
            [0, mix(tone(colour, -0.12), "#3f6f8a", 0.4)],
            [1, mix(tone(colour, -0.2), "#20406a", 0.5)],
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
        sheet.vertical(
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
    { name: "bubbles", air: true, svg: detail > 0 ? bubbles.join("") : "" },
  ];
}

/** A floor of cloud, for those who are above it. */
export function cloudSea(stage: Stage): Layer[] {
  const { width, height, horizon, palette, phase } = stage;
  return Array.from({ length: 4 }, (_, row) => {
    const random = stage.random.fork(`cloud row ${row}`);
    const t = row / 3;
    const y = horizon + 40 + t * (height - horizon);
    const count = Math.round((6 - row) * (width / 1000)) + 2;
    const heaps = Array.from({ length: count }, (_, i) =>
      cloud(
        stage,
        ((i + random.between(0.2, 0.8)) / count) * width,
        y + random.between(-14, 14),
        (300 + t * 330) * random.between(0.8, 1.15),
        `heap ${row} ${i}`,
      ),
    );
    const base = rect(
      0,
      y - 24,
      width,
      height - y + 30,
      stage.sheet.vertical(
        [
          [0, palette.cloudShade, 0],
          [0.4, mix(palette.cloudShade, palette.cloudLit, 0.4 + t * 0.3), 0.9],
          [1, palette.cloudLit, 0.9],
        ],
        y - 24,
        height,
      ),
    );
    return {
      name: `cloud row ${row}`,
      svg: base + group({ transform: `translate(${num(sway(phase, t) * 14)} 0)` }, ...heaps),
    };
  });
}

/** Synthwave: a striped sun over a glowing grid. */
export function neonGrid(
  stage: Stage,
  colours: readonly [Colour, Colour] = ["#ff3fa4", "#2de2ff"],
): Layer[] {
  const { width, height, horizon, sheet, phase } = stage;
  const [pink, cyan] = colours;
  const [x, y, r] = [width / 2, horizon - 120, 210];
  const random = stage.random.fork("grid");
  const bars = Array.from({ length: 7 }, (_, i) =>
    rect(x - r, y + 6 + i * 30, r * 2, 4 + i * 3, "#2a0a4a"),
  );
  const verticals = Array.from(
    { length: 25 },
    (_, i) =>
      `M${num(x + (i - 12) * 26)} ${num(horizon)}L${num(x + (i - 12) * 240)} ${num(height)}`,
  ).join("");
  const levels = Array.from(
    { length: 13 },
    (_, i) => `M0 ${num(horizon + ((i + phase) / 13) ** 2.2 * (height - horizon))}H${num(width)}`,
  ).join("");
  const ridge = (step: number, tall: number, seed: string): string => {
    const inner = random.fork(seed);
    let d = `M-20 ${num(horizon + 2)}`;
    for (let px = -20; px <= width + 20; px += step) {
      const edge = Math.abs(px - x) / (width / 2);
      d += `L${num(px)} ${num(horizon - (edge > 0.34 ? tall * (edge - 0.24) * inner.between(0.3, 1.2) : 0))}`;
    }
    return `${d}L${num(width + 20)} ${num(horizon + 2)}Z`;
  };
  let dots = "";
  for (let i = 0; i < many(stage, 120); i++)
    dots += `M${num(random.between(0, width))} ${num(random.between(0, horizon * 0.7))}h1.6`;
  return [
    {
      name: "sky",
      air: true,
      svg:
        rect(
          0,
          0,
          width,
          height,
          sheet.vertical(
            [
              [0, "#0b0326"],
              [0.5, "#2a0a4a"],
              [0.85, "#7a1a6a"],
              [1, "#d83a8a"],
            ],
            0,
            horizon,
          ),
        ) + stroke(dots, "#ffe6ff", 2.2, { "stroke-opacity": 0.7 }),
    },
    {
      name: "sun",
      air: true,
      svg:
        circle(
          x,
          y,
          r * 1.9,
          sheet.radial([
            [0.3, pink, 0.5],
            [1, pink, 0],
          ]),
        ) +
        circle(
          x,
          y,
          r,
          sheet.linear([
            [0, "#ffe45e"],
            [0.55, "#ff8a3c"],
            [1, pink],
          ]),
        ) +
        group({ "clip-path": sheet.clip(circle(x, y, r, "#000000")) }, ...bars),
    },
    {
      name: "ridges",
      svg:
        path(ridge(46, 260, "far"), "#2b0d52", {
          stroke: cyan,
          "stroke-width": 2.4,
          "stroke-opacity": 0.75,
        }) +
        path(ridge(64, 170, "near"), "#180735", {
          stroke: pink,
          "stroke-width": 2.4,
          "stroke-opacity": 0.9,
        }),
    },
    {
      name: "grid",
      svg:
        rect(
          0,
          horizon,
          width,
          height - horizon,
          sheet.vertical(
            [
              [0, "#4a0f5e"],
              [0.3, "#1c0638"],
              [1, "#0c0220"],
            ],
            horizon,
            height,
          ),
        ) +
        stroke(verticals + levels, cyan, 2, { "stroke-opacity": 0.75 }) +
        rect(0, horizon - 2, width, 4, "#ffd0f4"),
    },
  ];
}
