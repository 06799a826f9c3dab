/** A room: a wall, a window with a view, and a table or sill for subjects. */
import { type Color, mix, tone } from "../color.ts";
import { lit } from "../scene/palette.ts";
import { type Layer, type Stage, scaledCount } from "../scene/stage.ts";
import { circle, ellipse, group, num, path, rect, stroke } from "../svg.ts";

/** `view` is drawn behind the window, in the coordinates of the whole image. */
export function room(stage: Stage, wallColor: Color | undefined, view: readonly Layer[]): Layer[] {
  const { width, height, palette, defs } = stage;
  const random = stage.random.fork("room");
  const wall = lit(
    palette,
    wallColor ?? random.pick(["#d9c3a5", "#b8c4b0", "#c9a89a", "#a9b9c4", "#d8b98a"]),
    0.7,
  );
  const wood = lit(palette, random.pick(["#a8744a", "#8a5a3c", "#b98a58"]), 0.7);
  const side = random.sign();
  const [w, h] = [Math.min(width * 0.42, 460), height * 0.46];
  const [x, y] = [width * (0.5 - side * 0.2) - w / 2, height * 0.1];
  const frame = tone(mix(wood, "#fff6e6", 0.75), palette.night ? -0.2 : 0);
  const top = height * 0.72;
  const clip = defs.clip(rect(x, y, w, h, "#000000", { rx: 6 }));
  // The view is scaled so that its horizon is low in the window.
  const scale = Math.max(w / stage.width, h / (stage.horizon * 1.22));
  const outside = group(
    { "clip-path": clip },
    group(
      {
        transform: `translate(${num(x + w / 2 - (stage.width * scale) / 2)} ${num(y + h - stage.horizon * scale * 1.2)}) scale(${scale.toFixed(4)})`,
      },
      ...view.map((layer) => layer.svg),
    ),
  );
  const dots = Array.from(
    { length: scaledCount(stage, 60) },
    (_, i) =>
      `M${num((i % 12) * (width / 11) + (Math.floor(i / 12) % 2) * (width / 22))} ${num(Math.floor(i / 12) * 130 + 50)}h0.1`,
  ).join("");
  const light = palette.night
    ? ""
    : path(
        `M${num(x + w * 0.1)} ${num(y + h)}L${num(x + w * 0.9)} ${num(y + h)}L${num(x + w * 0.9 + side * 170)} ${num(height)}L${num(x + side * 170 - w * 0.2)} ${num(height)}Z`,
        palette.glow,
        { "fill-opacity": 0.16 },
      );
  const grain = Array.from({ length: scaledCount(stage, 16) }, () => {
    const gy = random.between(top + 12, height);
    return `M${num(random.between(-0.1, 0.7) * width)} ${num(gy)}q${num(width * 0.15)} ${num(random.between(-6, 6))} ${num(width * 0.4)} 0`;
  }).join("");
  return [
    {
      name: "wall",
      atmospheric: true,
      svg:
        rect(
          0,
          0,
          width,
          height,
          defs.linear([
            [0, tone(wall, 0.04)],
            [1, tone(wall, -0.07)],
          ]),
        ) + stroke(dots, tone(wall, -0.05), 9, { "stroke-opacity": 0.5 }),
    },
    {
      name: "window",
      svg:
        rect(x - 20, y - 20, w + 40, h + 34, tone(frame, -0.05), { rx: 8 }) +
        outside +
        stroke(
          `M${num(x + w / 2)} ${num(y)}V${num(y + h)}M${num(x)} ${num(y + h * 0.44)}H${num(x + w)}`,
          frame,
          11,
        ) +
        rect(x, y, w, h, "none", { stroke: frame, "stroke-width": 16, rx: 4 }) +
        rect(x - 34, y + h + 6, w + 68, 20, frame, { rx: 4 }) +
        curtains(
          stage,
          x,
          y,
          w,
          h,
          lit(palette, random.pick(["#e8d9c4", "#c86a5a", "#7f9a8a", "#d9a05a"]), 0.6),
        ),
    },
    {
      name: "lamp",
      svg: hanging(
        stage,
        width * (0.5 + side * 0.3),
        random.pick(["#d9574f", "#3f7f8c", "#e0a83c"]),
      ),
    },
    {
      name: "table",
      svg:
        rect(
          0,
          top,
          width,
          height - top,
          defs.vertical(
            [
              [0, tone(wood, 0.08)],
              [0.12, wood],
              [1, tone(wood, -0.14)],
            ],
            top,
            height,
          ),
        ) +
        stroke(grain, tone(wood, -0.07), 3, { "stroke-opacity": 0.5 }) +
        rect(0, top, width, 7, tone(wood, 0.16)) +
        light,
    },
  ];
}

function curtains(stage: Stage, x: number, y: number, w: number, h: number, cloth: Color): string {
  const { defs } = stage;
  const fall = (s: 1 | -1): string => {
    const edge = s < 0 ? x - 34 : x + w + 34;
    const inner = edge - s * w * 0.27;
    const fill = defs.linear(
      [
        [0, tone(cloth, -0.06)],
        [0.3, tone(cloth, 0.05)],
        [0.55, tone(cloth, -0.05)],
        [0.8, tone(cloth, 0.04)],
        [1, tone(cloth, -0.07)],
      ],
      [0, 0, 1, 0],
    );
    return (
      path(
        `M${num(edge)} ${num(y - 30)}H${num(inner)}C${num(inner)} ${num(y + h * 0.4)} ${num(edge - s * 50)} ${num(y + h * 0.5)} ${num(edge - s * 36)} ${num(y + h * 0.62)}C${num(edge - s * 70)} ${num(y + h * 0.8)} ${num(edge - s * 60)} ${num(y + h)} ${num(edge - s * 62)} ${num(y + h + 30)}H${num(edge)}Z`,
        fill,
      ) + rect(Math.min(edge, edge - s * 40), y + h * 0.6, 40, 12, tone(cloth, -0.12), { rx: 5 })
    );
  };
  return (
    fall(-1) +
    fall(1) +
    rect(x - 60, y - 40, w + 120, 9, tone(cloth, -0.3), { rx: 4 }) +
    circle(x - 62, y - 36, 9, tone(cloth, -0.3)) +
    circle(x + w + 62, y - 36, 9, tone(cloth, -0.3))
  );
}

function hanging(stage: Stage, x: number, color: Color): string {
  const { palette, defs } = stage;
  const shade = lit(palette, color, 0.6);
  const y = stage.height * 0.2;
  const glow = palette.dim > 0.2 ? 0.55 : 0.2;
  return (
    circle(
      x,
      y + 30,
      240,
      defs.radial([
        [0, "#ffe2a0", glow],
        [1, "#ffd98a", 0],
      ]),
    ) +
    stroke(`M${num(x)} 0V${num(y - 40)}`, tone(shade, -0.3), 3) +
    ellipse(x, y + 14, 30, 12, "#fff3c8") +
    path(
      `M${num(x - 26)} ${num(y - 42)}Q${num(x)} ${num(y - 56)} ${num(x + 26)} ${num(y - 42)}L${num(x + 68)} ${num(y + 12)}Q${num(x)} ${num(y + 26)} ${num(x - 68)} ${num(y + 12)}Z`,
      defs.linear(
        [
          [0, tone(shade, 0.08)],
          [1, tone(shade, -0.08)],
        ],
        [0, 0, 1, 0],
      ),
    )
  );
}
