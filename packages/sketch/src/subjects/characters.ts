/** Characters: robot, snowman, wizard, knight. */
import { circle, group, path, rect, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Subject, shadow, sway } from "./subject.ts";

const robot: Subject = {
  stands: "ground",
  tall: 350,
  aspect: 0.75,
  colors: [
    ["#8fb3bf", "#f0a23c"],
    ["#c9cfd6", "#e2574c"],
    ["#e0b65a", "#3f6f8e"],
  ],
  draw: (brush) => {
    const glow = "#9df2ff";
    const arm = (s: 1 | -1): string =>
      group(
        { transform: `rotate(${s * sway(brush.phase, s > 0 ? 0.25 : 0) * 8} ${s * 22} -52)` },
        stroke(`M${s * 22} -52Q${s * 34} -44 ${s * 32} -28`, brush.lit("#5b6472"), 5),
        circle(s * 22, -52, 5, brush.dark),
        path(
          `M${s * 32 - 6} -30Q${s * 32 - 8} -18 ${s * 32 - 3} -16L${s * 32 - 2} -23H${s * 32 + 2}L${s * 32 + 3} -16Q${s * 32 + 8} -18 ${s * 32 + 6} -30Z`,
          brush.main,
        ),
      );
    return [
      stroke("M-9 -20V-6M9 -20V-6", brush.lit("#5b6472"), 7),
      path("M-19 0Q-19 -8 -9 -8Q0 -8 0 0ZM19 0Q19 -8 9 -8Q0 -8 0 0Z", brush.dark),
      arm(-1),
      arm(1),
      rect(-21, -58, 42, 40, brush.body, { rx: 9 }),
      rect(-13, -51, 26, 18, brush.lit("#2f3a4a"), { rx: 4 }),
      stroke("M-9 -42L-4 -42L-1 -47L3 -38L6 -42H9", glow, 1.4),
      circle(-9, -26, 2.4, brush.accent),
      circle(-1, -26, 2.4, brush.lit("#f4d35e")),
      circle(7, -26, 2.4, brush.lit("#6fcf8a")),
      rect(-6, -63, 12, 6, brush.lit("#5b6472")),
      stroke("M0 -92V-100", brush.lit("#5b6472"), 2),
      circle(0, -101, 3.6, brush.accent),
      rect(-24, -92, 48, 31, brush.body, { rx: 11 }),
      rect(-18, -86, 36, 19, brush.lit("#243042"), { rx: 8 }),
      circle(-8, -77, 4.6, glow),
      circle(8, -77, 4.6, glow),
      circle(-9.4, -78.4, 1.5, "#ffffff"),
      circle(6.6, -78.4, 1.5, "#ffffff"),
      stroke("M-4 -71Q0 -69 4 -71", glow, 1.4),
      rect(-28, -82, 5, 11, brush.accent, { rx: 2 }),
      rect(23, -82, 5, 11, brush.accent, { rx: 2 }),
    ].join("");
  },
};

const snowman: Subject = {
  stands: "ground",
  tall: 320,
  aspect: 0.75,
  colors: [["#fbfaf8", "#d9483f"]],
  draw: (brush) => {
    const coal = brush.lit("#2c2830");
    const snow = brush.defs.radial(
      [
        [0, "#ffffff"],
        [0.6, brush.main],
        [1, brush.lit("#b8cbe0")],
      ],
      [0.38, 0.32, 0.75],
    );
    return [
      stroke(
        "M-20 -50L-40 -64M-34 -60L-36 -68M-34 -60L-42 -58M20 -50L40 -66M34 -61L36 -70M34 -61L42 -60",
        brush.lit("#6b4636"),
        2,
      ),
      circle(0, -24, 26, snow),
      circle(0, -54, 19, snow),
      circle(0, -78, 14, snow),
      circle(0, -58, 1.8, coal),
      circle(0, -50, 1.8, coal),
      circle(0, -34, 2, coal),
      path("M-13 -68Q0 -60 13 -68L14 -63Q0 -55 -14 -63Z", brush.accent),
      path("M6 -62L12 -64L15 -44L8 -43Z", shadow(brush.accent, 0.08)),
      circle(-5, -81, 1.8, coal),
      circle(5, -81, 1.8, coal),
      path("M0 -78L16 -75L0 -74Z", brush.lit("#f08a3c")),
      stroke("M-6 -72Q0 -68 6 -72", coal, 1.2, { "stroke-dasharray": "0.1 2.6" }),
      rect(-17, -91, 34, 4, coal, { rx: 2 }),
      rect(-11, -104, 22, 14, coal, { rx: 2 }),
      rect(-11, -95, 22, 4, brush.accent),
    ].join("");
  },
};

const wizard: Subject = {
  stands: "ground",
  tall: 360,
  aspect: 0.7,
  colors: [["#5a4fa0", "#f4d35e"]],
  draw: (brush) => {
    const star = (x: number, y: number, r: number): string =>
      path(
        `M${x} ${y - r}L${x + r * 0.3} ${y - r * 0.3}L${x + r} ${y}L${x + r * 0.3} ${y + r * 0.3}L${x} ${y + r}L${x - r * 0.3} ${y + r * 0.3}L${x - r} ${y}L${x - r * 0.3} ${y - r * 0.3}Z`,
        brush.accent,
      );
    return [
      stroke("M28 0L26 -72", brush.lit("#7a5038"), 2.6),
      circle(26, -76, 5.6 + sway(brush.phase) * 0.8, brush.lit("#8ff0ff")),
      circle(26, -76, 10 + sway(brush.phase), "#8ff0ff", { "fill-opacity": 0.25 }),
      path("M-14 -56Q0 -64 14 -56L26 0H-26Z", brush.body),
      path("M-4 -50L-7 0H8L5 -50Z", brush.dark),
      stroke("M12 -52L26 -42", brush.main, 9),
      circle(27, -42, 3.4, brush.lit("#f3c9a5")),
      stroke("M-12 -52L-22 -34", brush.main, 9),
      circle(-23, -31, 3.4, brush.lit("#f3c9a5")),
      circle(0, -64, 10, brush.lit("#f3c9a5")),
      path(
        "M-10 -64C-12 -44 -4 -34 0 -30C4 -34 12 -44 10 -64Q0 -56 -10 -64Z",
        brush.lit("#f4f1ee"),
      ),
      eyes(brush, 0, -66, 3.8, 1.3),
      path("M-2 -64Q0 -60 2 -64Z", brush.lit("#e0a884")),
      path("M-20 -68Q0 -76 20 -68Q0 -62 -20 -68Z", brush.deep),
      path("M-12 -70Q-2 -92 8 -102Q6 -94 10 -88Q10 -78 12 -70Q0 -66 -12 -70Z", brush.body),
      star(1, -80, 4),
      star(-14, -16, 3.4),
      star(14, -12, 3),
      star(-12, -40, 2.6),
    ].join("");
  },
};

const knight: Subject = {
  stands: "ground",
  tall: 350,
  aspect: 0.75,
  colors: [["#b9c0ca", "#b8433f"]],
  draw: (brush) =>
    [
      path("M-16 -60L-26 -6Q-10 -12 0 -8V-60Z", brush.accent),
      stroke("M-8 -28L-9 -4M8 -28L9 -4", brush.dark, 10),
      path("M-17 0V-5Q-9 -9 -2 -5V0ZM17 0V-5Q9 -9 2 -5V0Z", brush.deep),
      path("M-18 -58Q0 -70 18 -58L15 -28Q0 -22 -15 -28Z", brush.body),
      path("M-8 -62H8L6 -26H-6Z", brush.accent),
      path("M0 -54L4 -47L0 -36L-4 -47Z", brush.lit("#f0c04a")),
      circle(-18, -58, 7, brush.dark),
      circle(18, -58, 7, brush.dark),
      stroke("M20 -54L29 -40", brush.main, 7),
      stroke("M30 -24V-84", brush.lit("#e4e8ec"), 3.4),
      stroke("M24 -40H36", brush.lit("#c99a3c"), 3),
      stroke("M30 -38V-30", brush.lit("#6b4636"), 3),
      path("M-36 -54Q-24 -60 -14 -54Q-14 -34 -25 -24Q-36 -34 -36 -54Z", brush.accent),
      path("M-25 -57V-25Q-36 -34 -36 -54Q-30 -57 -25 -57Z", brush.lit("#f4e6c8")),
      path("M-12 -82C-12 -96 12 -96 12 -82V-68Q0 -60 -12 -68Z", brush.body),
      path("M-12 -82H12V-76H-12Z", brush.lit("#2c2a36")),
      stroke("M0 -94V-66M-6 -72v4M6 -72v4", brush.deep, 1.4),
      path("M0 -94C4 -106 16 -106 22 -98C16 -98 12 -92 4 -91Z", brush.accent),
    ].join(""),
};

export const characters = { robot, snowman, wizard, knight } as const;
