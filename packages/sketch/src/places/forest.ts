/** Forest: rows of trees that fade with distance, near trunks, light between them. */
import { type Color, mix, tone, turnHue } from "../color.ts";
import { atDistance, lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { ellipse, num, type Point, path, polygon, stroke } from "../svg.ts";
import { conifer, heightAt, rolling, type TreeShape, under } from "./terrain.ts";

const leafGreen = "#3f7a58";

/** Rows of trees behind the clearing. */
export function forest(
  stage: Stage,
  color: Color = leafGreen,
  shape: TreeShape = conifer,
): Layer[] {
  const { palette, width, horizon, height, defs } = stage;
  const ranks = 4;
  return Array.from({ length: ranks }, (_, i) => {
    const random = stage.random.fork(`rank ${i}`);
    const t = i / (ranks - 1);
    const shade = atDistance(palette, turnHue(color, (1 - t) * 14), 0.2 + t * 0.56);
    const line = rolling(random, width, horizon - 34 + t * 40, 20, 2);
    const tall = height * (0.2 + t * 0.2);
    let d = "";
    const count = Math.round((scaledCount(stage, 40) + 10) * (1 - t * 0.45) * (width / 1000));
    for (let k = 0; k < count; k++) {
      const x = ((k + random.between(0.1, 0.9)) / count) * (width + 60) - 30;
      // The middle stays open, so that subjects stand against a light background.
      const open = Math.abs(x - width / 2) / (width / 2);
      d += shape(
        random,
        x,
        heightAt(line, x) + 12,
        tall * random.between(0.6, 1) * (0.62 + 0.5 * open ** (1 + t)),
      );
    }
    const mist = defs.vertical(
      [
        [0, palette.haze, 0],
        [1, palette.haze, 0.5 * (1 - t)],
      ],
      horizon - tall * 0.7,
      horizon + 30,
    );
    return {
      name: `trees ${i}`,
      svg:
        path(
          d,
          defs.vertical(
            [
              [0, tone(shade, 0.04)],
              [1, mix(shade, palette.haze, 0.25)],
            ],
            horizon - tall,
            horizon + 30,
          ),
        ) +
        path(under(line, horizon + 60), shade) +
        path(`M0 ${num(horizon - tall)}H${num(width)}V${num(horizon + 40)}H0Z`, mist),
    };
  });
}

/** The forest floor, with a path, ferns and large trunks at the sides. */
export function woodFloor(stage: Stage, color: Color = "#5f7f4a"): Layer[] {
  const { palette, width, height, horizon, defs, sun } = stage;
  const random = stage.random.fork("floor");
  const ground = lit(palette, color);
  const trail = lit(palette, "#b99a6a");
  const left: Point[] = [];
  const right: Point[] = [];
  for (let i = 0; i <= 12; i++) {
    const t = i / 12;
    const middle = width * (0.52 + Math.sin(t * 4) * 0.07 * (1 - t * 0.5));
    const y = horizon + 20 + t ** 1.4 * (height - horizon);
    left.push([middle - 6 - t ** 1.5 * width * 0.15, y]);
    right.unshift([middle + 6 + t ** 1.5 * width * 0.15, y]);
  }
  const line = rolling(random.fork("line"), width, horizon + 16, 10, 2);
  const rays = Array.from({ length: 5 }, (_, i) => {
    const far = sun.x + (i - 2) * 170 + random.between(-40, 40);
    return polygon([
      [sun.x - 12, 0],
      [sun.x + 12, 0],
      [far + 90, height],
      [far - 60, height],
    ]);
  });
  let tufts = "";
  for (let i = 0; i < scaledCount(stage, 170); i++) {
    const t = random.next();
    const [x, y, tall] = [
      random.between(0, width),
      horizon + 34 + t * (height - horizon - 20),
      8 + t * 26,
    ];
    if (Math.abs(x - width * 0.52) < width * 0.03 + t ** 1.5 * width * 0.17) continue;
    tufts += `M${num(x)} ${num(y)}q-3 ${num(-tall * 0.6)} ${num(-tall * 0.5)} ${num(-tall)}M${num(x)} ${num(y)}q0 ${num(-tall * 0.6)} 1 ${num(-tall * 1.2)}M${num(x)} ${num(y)}q3 ${num(-tall * 0.6)} ${num(tall * 0.5)} ${num(-tall)}`;
  }
  return [
    {
      name: "wood floor",
      svg:
        path(
          under(line, height),
          defs.vertical(
            [
              [0, mix(ground, palette.haze, 0.35)],
              [0.4, ground],
              [1, tone(ground, -0.13)],
            ],
            horizon,
            height,
          ),
        ) +
        path(
          `M${[...left, ...right].map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}Z`,
          defs.vertical(
            [
              [0, mix(trail, palette.haze, 0.4)],
              [1, tone(trail, -0.08)],
            ],
            horizon,
            height,
          ),
        ) +
        stroke(tufts, tone(ground, 0.06), 2, { "stroke-opacity": 0.7 }),
    },
    {
      name: "light",
      atmospheric: true,
      svg: path(
        rays.join(""),
        defs.vertical(
          [
            [0, palette.glow, palette.night ? 0.1 : 0.26],
            [1, palette.glow, 0],
          ],
          0,
          height,
        ),
      ),
    },
  ];
}

/** Two or three dark trunks that frame the image. */
export function trunks(stage: Stage, color: Color = "#4a3a38"): Layer[] {
  const { palette, width, height, defs } = stage;
  const random = stage.random.fork("trunks");
  const bark = tone(lit(palette, color), -0.05);
  const leaf = tone(lit(palette, "#35614a"), -0.05);
  const spots = [0.035, 0.965, ...(random.chance(0.5) ? [0.14] : [0.87])];
  const trunk = spots.map((share, i) => {
    const [x, half] = [width * share, (i < 2 ? 34 : 19) * random.between(0.85, 1.15)];
    const foot = height * (i < 2 ? 0.97 : 0.88);
    return path(
      `M${num(x - half)} -10C${num(x - half * 0.8)} ${num(height * 0.4)} ${num(x - half * 0.9)} ${num(foot - 90)} ${num(x - half * 2)} ${num(foot)}Q${num(x)} ${num(foot - 16)} ${num(x + half * 2)} ${num(foot)}C${num(x + half * 0.9)} ${num(foot - 90)} ${num(x + half * 0.8)} ${num(height * 0.4)} ${num(x + half)} -10Z`,
      defs.linear(
        [
          [0, tone(bark, 0.06)],
          [0.5, bark],
          [1, tone(bark, -0.06)],
        ],
        [0, 0, 1, 0],
      ),
    );
  });
  const canopy = Array.from({ length: 16 }, (_, i) => {
    const x = ((i + 0.5) / 16) * width;
    const edge = Math.abs(x / width - 0.5) * 2;
    return ellipse(
      x,
      -10,
      width * 0.075,
      26 + edge ** 2 * 130 * random.between(0.7, 1.1),
      i % 2 ? leaf : tone(leaf, 0.04),
    );
  });
  return [{ name: "trunks", svg: trunk.join("") + canopy.join("") }];
}
