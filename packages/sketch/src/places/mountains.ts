/** Mountains: faint ranges, faceted peaks with snow, and wooded foothills, from far to near. */
import { type Color, mix, tone } from "../color.ts";
import type { Random } from "../random.ts";
import { atDistance, lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { num, type Point, path, polygon } from "../svg.ts";
import { conifer, jagged, rolling, treesAlong, under } from "./terrain.ts";

/** `keep` is the share of a named color that the haze leaves. */
export function mountains(stage: Stage, color: Color = "#5d6d94", keep = 0): Layer[] {
  const { palette, defs, width, horizon, height } = stage;
  const random = stage.random.fork("mountains");
  const rise = Math.min(horizon * 0.72, height * 0.42);
  const layers: Layer[] = [0, 1].map((i) => {
    const shade = atDistance(palette, color, 0.22 + i * 0.16 + keep);
    const line = jagged(
      random.fork(`far ${i}`),
      width,
      horizon - rise * (0.16 - i * 0.06),
      rise * (0.5 - i * 0.1),
      (2.6 + i) * (width / 1000),
    );
    return {
      name: `far range ${i}`,
      svg: path(
        under(line, horizon + 20, false),
        defs.vertical(
          [
            [0, shade],
            [1, mix(shade, palette.haze, 0.75)],
          ],
          horizon - rise * 0.8,
          horizon,
        ),
      ),
    };
  });
  layers.push({ name: "peaks", svg: peaks(stage, random.fork("peaks"), color, rise, keep) });
  const hills = rolling(
    random.fork("foothills"),
    width,
    horizon - rise * 0.07,
    rise * 0.1,
    3 * (width / 1000),
  );
  const wood = atDistance(palette, mix(color, "#3f6b52", 0.6), 0.66);
  layers.push({
    name: "foothills",
    svg:
      path(
        treesAlong(
          random.fork("trees"),
          hills,
          width,
          scaledCount(stage, 130 * (width / 1000)),
          44,
          conifer,
        ),
        wood,
      ) +
      path(
        under(hills, horizon + 60),
        defs.vertical(
          [
            [0, wood],
            [1, mix(wood, palette.haze, 0.35)],
          ],
          horizon - rise * 0.2,
          horizon + 24,
        ),
      ),
  });
  return layers;
}

function peaks(stage: Stage, random: Random, color: Color, rise: number, keep: number): string {
  const { palette, width, horizon, sun } = stage;
  const count = Math.max(3, Math.round((width / 1000) * 4));
  const spots = Array.from({ length: count }, (_, i) => ({
    x: ((i + 0.5) / count) * width + random.between(-0.3, 0.3) * (width / count),
    tall: rise * random.between(0.52, 0.8),
  }));
  const chief = spots[random.integer(0, count - 1)];
  if (chief !== undefined) chief.tall = rise * random.between(0.92, 1.04);
  spots.sort((a, b) => b.tall - a.tall);
  return spots
    .map(({ x, tall }, i) =>
      peak(
        stage,
        random.fork(`peak ${i}`),
        x,
        tall,
        atDistance(palette, color, 0.46 + (1 - tall / rise) * 0.22 + keep),
        sun.x < x,
        horizon + 14,
      ),
    )
    .join("");
}

/** One mountain: a lit body, a shaded face with a jagged edge, and a snow cap on both. */
export function peak(
  stage: Stage,
  random: Random,
  x: number,
  tall: number,
  body: Color,
  sunLeft: boolean,
  base: number,
): string {
  const { palette, defs } = stage;
  const spread = tall * random.between(0.85, 1.1);
  const side = (direction: 1 | -1): Point[] => {
    const steps = 9;
    return Array.from({ length: steps + 1 }, (_, i) => {
      const t = i / steps;
      const wander = i === 0 || i === steps ? 0 : random.between(-0.045, 0.045) * tall;
      return [
        x + direction * (spread * t ** 1.12) + wander * 0.6,
        base - tall * (1 - t) + wander,
      ] as const;
    });
  };
  const [left, right] = [side(-1), side(1)];
  const shaded = sunLeft ? right : left;
  const lean = sunLeft ? -1 : 1;
  const spine: Point[] = Array.from({ length: 8 }, (_, i) => {
    const t = (i + 1) / 8;
    return [
      x + lean * spread * 0.34 * t + random.between(-0.07, 0.07) * tall * (i % 2 ? 1 : -1) * t,
      base - tall * (1 - t),
    ] as const;
  });
  const fade = mix(body, palette.haze, 0.72);
  const dark = mix(tone(body, -0.085), palette.sky[0] ?? body, 0.12);
  const outline = polygon([...[...left].reverse(), ...right.slice(1)]);
  const face = polygon([...shaded, ...[...spine].reverse()]);
  const snowLit = mix(lit(palette, "#fdfdff"), palette.glow, 0.16);
  const snowDark = mix(lit(palette, "#b6c4e2"), body, 0.18);
  return [
    path(
      outline,
      defs.vertical(
        [
          [0, tone(body, 0.035)],
          [1, fade],
        ],
        base - tall,
        base,
      ),
    ),
    path(
      face,
      defs.vertical(
        [
          [0, dark],
          [1, fade],
        ],
        base - tall,
        base,
      ),
    ),
    path(snowCap(random.fork("cap"), x, tall, base, left, right), snowLit),
    path(snowShade(random.fork("shade"), x, tall, base, shaded, spine), snowDark),
  ].join("");
}

function snowCap(
  random: Random,
  x: number,
  tall: number,
  base: number,
  left: readonly Point[],
  right: readonly Point[],
): string {
  const [from, to] = [left[3], right[3]];
  if (from === undefined || to === undefined) return "";
  const teeth: Point[] = Array.from({ length: 9 }, (_, i) => {
    const t = (i + 1) / 10;
    return [
      to[0] + (from[0] - to[0]) * t,
      base - tall * (i % 2 ? 0.72 : 0.56) + random.between(-0.05, 0.05) * tall,
    ] as const;
  });
  return `M${num(x)} ${num(base - tall)}L${[...right.slice(1, 4), ...teeth, from, left[2] ?? from, left[1] ?? from].map(([px, py]) => `${num(px)} ${num(py)}`).join("L")}Z`;
}

function snowShade(
  random: Random,
  x: number,
  tall: number,
  base: number,
  shaded: readonly Point[],
  spine: readonly Point[],
): string {
  const [edge, inner] = [shaded[3], spine[2]];
  if (edge === undefined || inner === undefined) return "";
  const teeth: Point[] = Array.from({ length: 5 }, (_, i) => {
    const t = (i + 1) / 6;
    return [
      edge[0] + (inner[0] - edge[0]) * t,
      base - tall * (i % 2 ? 0.74 : 0.6) + random.between(-0.03, 0.03) * tall,
    ] as const;
  });
  return `M${num(x)} ${num(base - tall)}L${[...shaded.slice(1, 4), ...teeth, inner, spine[1] ?? inner, spine[0] ?? inner].map(([px, py]) => `${num(px)} ${num(py)}`).join("L")}Z`;
}

export function volcano(stage: Stage, color: Color = "#6b5564"): Layer[] {
  const { palette, defs, width, horizon, phase } = stage;
  const random = stage.random.fork("volcano");
  const [x, tall] = [width * random.between(0.36, 0.62), Math.min(horizon * 0.66, 460)];
  const body = atDistance(palette, color, 0.6);
  const [top, base] = [horizon - tall, horizon + 16];
  const slope = (s: 1 | -1): string =>
    `${num(x + s * tall * 0.13)} ${num(top)}C${num(x + s * tall * 0.26)} ${num(top + tall * 0.5)} ${num(x + s * tall * 0.62)} ${num(base - tall * 0.1)} ${num(x + s * tall * 1.05)} ${num(base)}`;
  const smoke = Array.from({ length: 9 }, (_, i) => {
    const t = (i + phase) / 9;
    const r = 26 + t * 90;
    return `M${num(x + t * 150 - r + Math.sin(i * 2) * 20)} ${num(top - 20 - t * 240)}a${num(r)} ${num(r)} 0 1 0 ${num(r * 2)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-r * 2)} 0Z`;
  }).join("");
  const lava = `M${num(x - 16)} ${num(top + 6)}Q${num(x - 6)} ${num(top + tall * 0.3)} ${num(x - 30)} ${num(top + tall * 0.5)}Q${num(x - 34)} ${num(top + tall * 0.62)} ${num(x - 56)} ${num(top + tall * 0.8)}Q${num(x - 10)} ${num(top + tall * 0.6)} ${num(x - 2)} ${num(top + tall * 0.44)}Q${num(x + 14)} ${num(top + tall * 0.58)} ${num(x + 40)} ${num(top + tall * 0.72)}Q${num(x + 22)} ${num(top + tall * 0.4)} ${num(x + 18)} ${num(top + 6)}Z`;
  return [
    {
      name: "smoke",
      atmospheric: true,
      svg: path(smoke, mix(palette.cloudShade, "#4a4048", 0.4), { "fill-opacity": 0.6 }),
    },
    {
      name: "volcano",
      svg:
        path(
          `M${slope(-1).replace(/^/, "")}L${num(x + tall * 1.05)} ${num(base)}C${num(x + tall * 0.62)} ${num(base - tall * 0.1)} ${num(x + tall * 0.26)} ${num(top + tall * 0.5)} ${num(x + tall * 0.13)} ${num(top)}Q${num(x)} ${num(top + 22)} ${num(x - tall * 0.13)} ${num(top)}Z`,
          defs.vertical(
            [
              [0, body],
              [1, mix(body, palette.haze, 0.6)],
            ],
            top,
            base,
          ),
        ) +
        path(
          lava,
          defs.vertical(
            [
              [0, "#ffd257"],
              [0.4, "#ff7a2b"],
              [1, "#d43a2a"],
            ],
            top,
            base,
          ),
        ),
    },
  ];
}
