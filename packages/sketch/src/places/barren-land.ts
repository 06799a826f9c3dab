/** Barren land: dunes, mesas, snowfields, the ground of a moon or planet. */
import { type Color, mix, tone } from "../color.ts";
import { atDistance, lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { curve, ellipse, num, type Point, path, stroke } from "../svg.ts";
import { conifer, heightAt, rolling, treesAlong, under } from "./terrain.ts";

export function mesas(stage: Stage, color: Color = "#b8684a"): Layer[] {
  const { width, horizon, palette, defs, sun } = stage;
  return [0, 1].map((i) => {
    const random = stage.random.fork(`mesa ${i}`);
    const shade = atDistance(palette, color, 0.34 + i * 0.24);
    const shapes = Array.from({ length: 3 - i }, () => {
      const [x, half, tall] = [
        random.between(0, 1) * width,
        random.between(60, 150),
        random.between(110, 210) * (1 - i * 0.2),
      ];
      const [top, base] = [horizon - tall, horizon + 10];
      const body = `M${num(x - half * 1.5)} ${num(base)}L${num(x - half * 1.1)} ${num(top + tall * 0.55)}L${num(x - half * 0.95)} ${num(top + tall * 0.5)}L${num(x - half * 0.86)} ${num(top)}H${num(x + half * 0.8)}L${num(x + half * 0.92)} ${num(top + tall * 0.48)}L${num(x + half * 1.1)} ${num(top + tall * 0.56)}L${num(x + half * 1.6)} ${num(base)}Z`;
      const side = sun.x < x ? 1 : -1;
      const face = `M${num(x + side * half * 0.2)} ${num(top)}L${num(x + side * half * 0.34)} ${num(top + tall * 0.5)}L${num(x + side * half * 0.5)} ${num(base)}H${num(x + side * half * 1.55)}L${num(x + side * half * 1.1)} ${num(top + tall * 0.56)}L${num(x + side * half * 0.92)} ${num(top + tall * 0.48)}L${num(x + side * half * 0.82)} ${num(top)}Z`;
      return (
        path(
          body,
          defs.vertical(
            [
              [0, tone(shade, 0.03)],
              [1, mix(shade, palette.haze, 0.5)],
            ],
            top,
            base,
          ),
        ) +
        path(face, tone(shade, -0.07), { "fill-opacity": 0.7 }) +
        stroke(
          `M${num(x - half * 0.87)} ${num(top + tall * 0.16)}H${num(x + half * 0.82)}M${num(x - half * 0.9)} ${num(top + tall * 0.3)}H${num(x + half * 0.86)}`,
          tone(shade, -0.05),
          3,
          { "stroke-opacity": 0.5 },
        )
      );
    });
    return { name: `mesas ${i}`, svg: shapes.join("") };
  });
}

export function desert(stage: Stage, color: Color = "#e2a662"): Layer[] {
  const { width, height, horizon, palette, defs, sun } = stage;
  const sand = lit(palette, color);
  return Array.from({ length: 4 }, (_, i) => {
    const random = stage.random.fork(`dune ${i}`);
    const t = i / 3;
    const y = horizon + t ** 1.3 * (height - horizon) * 0.66;
    const crestX = width * random.between(0.2, 0.8);
    const lift = 40 + t * 70;
    const shade = mix(mix(sand, palette.haze, 0.5 * (1 - t)), tone(sand, -0.05), t * 0.6);
    const top: Point[] = [
      [-30, y + lift * random.between(0.2, 0.7)],
      [crestX - width * 0.34, y + lift * 0.1],
      [crestX, y - lift * 0.55],
      [crestX + width * 0.28, y + lift * 0.12],
      [width + 30, y + lift * random.between(0, 0.5)],
    ];
    const away = sun.x < crestX ? 1 : -1;
    const spine: Point[] = [
      [crestX, y - lift * 0.55],
      [crestX + away * width * 0.03, y + lift * 0.4],
      [crestX - away * width * 0.05, y + lift * 1.2],
      [crestX + away * width * 0.12, y + lift * 2.4],
      [crestX + away * width * 0.1, height + 10],
    ];
    const edge = away > 0 ? [...top.slice(2)] : [...top.slice(0, 3)].reverse();
    const face = `${curve(edge)}L${num(edge.at(-1)?.[0] ?? 0)} ${num(height + 10)}L${num(spine.at(-1)?.[0] ?? 0)} ${num(height + 10)}L${curve([...spine].reverse()).slice(1)}Z`;
    const ripple =
      i < 2
        ? ""
        : stroke(
            Array.from({ length: scaledCount(stage, 9) }, (_, k) => {
              const ry = y + lift * 0.7 + k * 17 * (1 + t);
              return `M${num(crestX - away * width * (0.06 + k * 0.02))} ${num(ry)}q${num(-away * width * 0.1)} ${num(-8)} ${num(-away * width * 0.26)} ${num(6)}`;
            }).join(""),
            tone(shade, -0.05),
            2,
            { "stroke-opacity": 0.5 },
          );
    return {
      name: `dune ${i}`,
      svg:
        path(
          under(top, height + 10),
          defs.vertical(
            [
              [0, tone(shade, 0.05)],
              [1, shade],
            ],
            y - lift,
            height,
          ),
        ) +
        path(
          face,
          defs.vertical(
            [
              [0, tone(mix(shade, palette.sky[1] ?? shade, 0.16), -0.07)],
              [1, tone(shade, -0.02)],
            ],
            y - lift,
            height,
          ),
        ) +
        ripple,
    };
  });
}

export function snowfield(stage: Stage, color: Color = "#f2f6fb"): Layer[] {
  const { width, height, horizon, palette, defs } = stage;
  const snow = lit(palette, color);
  const shadowed = mix(snow, palette.sky[1] ?? snow, 0.34);
  return Array.from({ length: 3 }, (_, i) => {
    const random = stage.random.fork(`drift ${i}`);
    const t = i / 2;
    const y = horizon + 8 + t ** 1.2 * (height - horizon) * 0.52;
    const line = rolling(random, width, y, 16 + t * 18, 1.8);
    const firs = path(
      treesAlong(
        random.fork("firs"),
        line,
        width,
        scaledCount(stage, (34 - i * 13) * (width / 1000)),
        66 + t * 80,
        conifer,
      ),
      mix(lit(palette, "#4a6d72"), palette.haze, 0.5 - t * 0.3),
    );
    let glints = "";
    for (let k = 0; k < scaledCount(stage, 36); k++) {
      const x = random.between(0, width);
      const gy = heightAt(line, x) + random.between(8, 150);
      glints += `M${num(x)} ${num(gy)}h${num(random.between(8, 30))}`;
    }
    return {
      name: `snow ${i}`,
      svg:
        (i < 2 ? firs : "") +
        path(
          under(line, height),
          defs.vertical(
            [
              [0, tone(snow, 0.02)],
              [0.25, mix(snow, shadowed, 0.35)],
              [1, mix(snow, shadowed, 0.75)],
            ],
            y - 20,
            height,
          ),
        ) +
        stroke(glints, tone(snow, 0.05), 2.4, { "stroke-opacity": 0.5 }),
    };
  });
}

/** The ground of a moon or a red planet: dust, craters, rocks. */
export function otherWorld(stage: Stage, color: Color = "#9a97a8"): Layer[] {
  const { width, height, horizon, palette, defs } = stage;
  const random = stage.random.fork("world");
  const dust = mix(color, palette.ambient, 0.16);
  const back = rolling(random.fork("back"), width, horizon - 24, 44, 2.4, 3);
  const front = rolling(random.fork("front"), width, horizon + 60, 22, 1.6);
  const craters = Array.from({ length: scaledCount(stage, 16) }, () => {
    const t = random.next() ** 1.3;
    const [x, y, r] = [
      random.between(0, 1) * width,
      horizon + 84 + t * (height - horizon - 80),
      12 + t * 58,
    ];
    return { x, y, r };
  }).sort((a, b) => a.y - b.y);
  const holes = craters.map(
    ({ x, y, r }) =>
      ellipse(x, y, r, r * 0.3, tone(dust, 0.07)) +
      ellipse(x, y + r * 0.03, r * 0.88, r * 0.24, tone(dust, -0.12)) +
      ellipse(x, y + r * 0.1, r * 0.7, r * 0.15, tone(dust, -0.05)),
  );
  const rocks = Array.from({ length: scaledCount(stage, 12) }, () => {
    const t = random.next();
    const [x, y, r] = [
      random.between(0, width),
      horizon + 80 + t * (height - horizon - 60),
      3 + t * 15,
    ];
    return (
      path(
        `M${num(x - r)} ${num(y)}L${num(x - r * 0.5)} ${num(y - r * 0.9)}L${num(x + r * 0.4)} ${num(y - r)}L${num(x + r)} ${num(y)}Z`,
        tone(dust, -0.09),
      ) +
      path(
        `M${num(x - r)} ${num(y)}L${num(x - r * 0.5)} ${num(y - r * 0.9)}L${num(x)} ${num(y - r * 0.3)}L${num(x - r * 0.1)} ${num(y)}Z`,
        tone(dust, 0.06),
      )
    );
  });
  return [
    {
      name: "far ground",
      svg: path(
        under(back, height),
        defs.vertical(
          [
            [0, tone(dust, -0.14)],
            [1, tone(dust, -0.1)],
          ],
          horizon - 60,
          horizon + 80,
        ),
      ),
    },
    {
      name: "ground",
      svg:
        path(
          under(front, height),
          defs.vertical(
            [
              [0, tone(dust, 0.04)],
              [1, tone(dust, -0.12)],
            ],
            horizon + 40,
            height,
          ),
        ) +
        holes.join("") +
        rocks.join(""),
    },
  ];
}
