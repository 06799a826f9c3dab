/** People and those like them: person, dancer, astronaut, robot, snowman, knight, wizard. */
import { tone } from "../color.ts";
import { circle, group, path, rect, stroke } from "../svg.ts";
import { eyes } from "./pets.ts";
import { type Subject, shadow, sway } from "./subject.ts";

const skins = ["#f3c9a5", "#d99e73", "#a8704a", "#7a4c34", "#f7d7bd"] as const;
const hairs = ["#3a2a2c", "#6b4226", "#c98a3c", "#2a2430", "#a3492c"] as const;

const person: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.45,
  colors: [
    ["#d9574f", "#34506e"],
    ["#e8b23f", "#3f4a5e"],
    ["#3f8f98", "#5a4238"],
    ["#7a5ba0", "#2f3a52"],
  ],
  draw: (b) => {
    const random = b.random.fork("person");
    const skin = b.lit(random.pick(skins));
    const hair = b.lit(random.pick(hairs));
    const long =
      /^(girl|woman|lady)$/.test(b.word) ||
      (!/^(boy|man|guy|fisherman|sailor|farmer)$/.test(b.word) && random.chance(0.5));
    const wave = sway(b.phase) * 5;
    return [
      long ? path("M-10 -92C-15 -80 -14 -66 -12 -62H12C14 -66 15 -80 10 -92Z", hair) : "",
      path("M-8 -36L-9 -3H-2L0 -32L2 -3H9L8 -36Z", b.accent),
      path("M-10 -4Q-12 0 -12 0H-1V-4ZM10 -4Q12 0 12 0H1V-4Z", b.lit("#3b2c2c")),
      group(
        { transform: `rotate(${wave * 0.5} -12 -64)` },
        stroke("M-12 -62L-17 -40", b.dark, 6),
        circle(-17.5, -37, 3, skin),
      ),
      path("M-14 -62Q-12 -69 -4 -69H4Q12 -69 14 -62L12 -33Q0 -29 -12 -33Z", b.body),
      group(
        { transform: `rotate(${-wave * 0.5} 12 -64)` },
        stroke("M12 -62L17 -40", b.dark, 6),
        circle(17.5, -37, 3, skin),
      ),
      path("M-9 -68Q0 -62 9 -68L10 -64Q0 -57 -10 -64Z", tone(b.main, 0.14)),
      rect(-3, -73, 6, 7, shadow(skin, 0.08)),
      path("M-10 -86C-10 -96 10 -96 10 -86C11 -76 6 -70 0 -70C-6 -70 -11 -76 -10 -86Z", skin),
      path(
        "M-11 -84C-13 -98 -4 -101 1 -100C10 -100 13 -92 11 -84C9 -88 7 -91 4 -92C-1 -89 -7 -89 -11 -84Z",
        hair,
      ),
      circle(-4, -82, 1.2, b.lit("#2a1f26")),
      circle(4, -82, 1.2, b.lit("#2a1f26")),
      stroke("M-3 -76.500Q0 -74.500 3 -76.500", b.lit("#a0524a"), 0.9),
      circle(-6.5, -79, 1.6, b.lit("#ec8a80"), { "fill-opacity": 0.5 }),
      circle(6.5, -79, 1.6, b.lit("#ec8a80"), { "fill-opacity": 0.5 }),
    ].join("");
  },
};

const dancer: Subject = {
  stands: "ground",
  tall: 360,
  aspect: 0.75,
  colors: [
    ["#e2627e", "#f7c4c8"],
    ["#6f6bc0", "#c9c2ee"],
  ],
  draw: (b) => {
    const random = b.random.fork("dancer");
    const skin = b.lit(random.pick(skins));
    const hair = b.lit(random.pick(hairs));
    return group(
      { transform: `rotate(${sway(b.phase) * 3})` },
      stroke("M2 -38L0 0M4 -38L16 -22L6 -14", skin, 4.6),
      stroke("M0 -4V0", b.main, 5),
      stroke("M-6 -64C-18 -70 -24 -84 -20 -96M8 -64C20 -66 28 -62 34 -70", skin, 4),
      path("M-8 -66Q2 -62 9 -66L8 -50H-5Z", b.body),
      path(
        "M-6 -52C-22 -44 -30 -36 -34 -30Q-24 -28 -18 -32Q-10 -24 0 -30Q12 -24 20 -31Q28 -28 36 -32C30 -42 20 -48 9 -52Z",
        b.body,
      ),
      path(
        "M-6 -52C-18 -44 -24 -40 -28 -36Q-10 -34 0 -38Q12 -34 28 -38C22 -44 16 -48 9 -52Z",
        b.accent,
        { "fill-opacity": 0.7 },
      ),
      rect(-1.5, -72, 5, 7, shadow(skin, 0.08)),
      circle(1, -79, 8.6, skin),
      path("M-8 -80C-9 -92 10 -94 10 -80C6 -86 -2 -86 -8 -80Z", hair),
      circle(3, -92, 4.6, hair),
      circle(3, -87.5, 2, b.main),
      stroke("M-4 -79q1.500 1.500 3 0M3 -79q1.500 1.500 3 0", b.lit("#2a1f26"), 0.9),
      stroke("M-1 -74.500Q1 -73 3.400 -74.500", b.lit("#a0524a"), 0.9),
    );
  },
};

const astronaut: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.62,
  colors: [["#f1eff0", "#e2703a"]],
  draw: (b) => {
    const visor = b.defs.linear(
      [
        [0, "#3a4a78"],
        [0.5, "#20284a"],
        [1, "#0f1430"],
      ],
      [0, 0, 1, 1],
    );
    return group(
      { transform: `rotate(${sway(b.phase) * 3} 0 -50)` },
      rect(-18, -66, 36, 36, b.deep, { rx: 6 }),
      group(
        { transform: `rotate(${sway(b.phase, 0.2) * 6} -18 -60)` },
        stroke("M-18 -58L-28 -38", b.dark, 11),
        circle(-29, -35, 5.6, b.accent),
      ),
      group(
        { transform: `rotate(${-20 - sway(b.phase) * 8} 18 -60)` },
        stroke("M18 -58L32 -70", b.main, 11),
        circle(34, -73, 5.6, b.accent),
      ),
      stroke("M-8 -28L-9 -8M8 -28L9 -8", b.main, 13),
      path("M-18 0V-7Q-10 -12 -2 -7V0ZM18 0V-7Q10 -12 2 -7V0Z", b.deep),
      rect(-16, -20, 14, 4, b.accent),
      rect(2, -20, 14, 4, b.accent),
      path("M-20 -58Q-20 -66 -10 -66H10Q20 -66 20 -58L18 -28Q0 -22 -18 -28Z", b.body),
      rect(-9, -52, 18, 13, b.lit("#cfd4dc"), { rx: 2 }),
      circle(-4, -46, 2, b.lit("#e2493f")),
      circle(2, -46, 2, b.lit("#5fb87a")),
      rect(-6, -42.5, 12, 1.6, b.lit("#6d7a90")),
      circle(0, -80, 21, b.body),
      path("M-15 -82C-15 -92 15 -92 15 -82C15 -70 9 -67 0 -67C-9 -67 -15 -70 -15 -82Z", visor),
      path(
        "M-11 -83C-10 -88 -5 -89 -2 -89C-7 -86 -8 -82 -8 -78C-10 -78 -11 -80 -11 -83Z",
        "#ffffff",
        { "fill-opacity": 0.6 },
      ),
      circle(8, -76, 1.4, "#ffffff", { "fill-opacity": 0.7 }),
      rect(-23, -84, 4, 9, b.accent, { rx: 1.5 }),
      rect(19, -84, 4, 9, b.accent, { rx: 1.5 }),
    );
  },
};

const robot: Subject = {
  stands: "ground",
  tall: 350,
  aspect: 0.75,
  colors: [
    ["#8fb3bf", "#f0a23c"],
    ["#c9cfd6", "#e2574c"],
    ["#e0b65a", "#3f6f8e"],
  ],
  draw: (b) => {
    const glow = "#9df2ff";
    const arm = (s: 1 | -1): string =>
      group(
        { transform: `rotate(${s * sway(b.phase, s > 0 ? 0.25 : 0) * 8} ${s * 22} -52)` },
        stroke(`M${s * 22} -52Q${s * 34} -44 ${s * 32} -28`, b.lit("#5b6472"), 5),
        circle(s * 22, -52, 5, b.dark),
        path(
          `M${s * 32 - 6} -30Q${s * 32 - 8} -18 ${s * 32 - 3} -16L${s * 32 - 2} -23H${s * 32 + 2}L${s * 32 + 3} -16Q${s * 32 + 8} -18 ${s * 32 + 6} -30Z`,
          b.main,
        ),
      );
    return [
      stroke("M-9 -20V-6M9 -20V-6", b.lit("#5b6472"), 7),
      path("M-19 0Q-19 -8 -9 -8Q0 -8 0 0ZM19 0Q19 -8 9 -8Q0 -8 0 0Z", b.dark),
      arm(-1),
      arm(1),
      rect(-21, -58, 42, 40, b.body, { rx: 9 }),
      rect(-13, -51, 26, 18, b.lit("#2f3a4a"), { rx: 4 }),
      stroke("M-9 -42L-4 -42L-1 -47L3 -38L6 -42H9", glow, 1.4),
      circle(-9, -26, 2.4, b.accent),
      circle(-1, -26, 2.4, b.lit("#f4d35e")),
      circle(7, -26, 2.4, b.lit("#6fcf8a")),
      rect(-6, -63, 12, 6, b.lit("#5b6472")),
      stroke("M0 -92V-100", b.lit("#5b6472"), 2),
      circle(0, -101, 3.6, b.accent),
      rect(-24, -92, 48, 31, b.body, { rx: 11 }),
      rect(-18, -86, 36, 19, b.lit("#243042"), { rx: 8 }),
      circle(-8, -77, 4.6, glow),
      circle(8, -77, 4.6, glow),
      circle(-9.4, -78.4, 1.5, "#ffffff"),
      circle(6.6, -78.4, 1.5, "#ffffff"),
      stroke("M-4 -71Q0 -69 4 -71", glow, 1.4),
      rect(-28, -82, 5, 11, b.accent, { rx: 2 }),
      rect(23, -82, 5, 11, b.accent, { rx: 2 }),
    ].join("");
  },
};

const snowman: Subject = {
  stands: "ground",
  tall: 320,
  aspect: 0.75,
  colors: [["#fbfaf8", "#d9483f"]],
  draw: (b) => {
    const coal = b.lit("#2c2830");
    const snow = b.defs.radial(
      [
        [0, "#ffffff"],
        [0.6, b.main],
        [1, b.lit("#b8cbe0")],
      ],
      [0.38, 0.32, 0.75],
    );
    return [
      stroke(
        "M-20 -50L-40 -64M-34 -60L-36 -68M-34 -60L-42 -58M20 -50L40 -66M34 -61L36 -70M34 -61L42 -60",
        b.lit("#6b4636"),
        2,
      ),
      circle(0, -24, 26, snow),
      circle(0, -54, 19, snow),
      circle(0, -78, 14, snow),
      circle(0, -58, 1.8, coal),
      circle(0, -50, 1.8, coal),
      circle(0, -34, 2, coal),
      path("M-13 -68Q0 -60 13 -68L14 -63Q0 -55 -14 -63Z", b.accent),
      path("M6 -62L12 -64L15 -44L8 -43Z", shadow(b.accent, 0.08)),
      circle(-5, -81, 1.8, coal),
      circle(5, -81, 1.8, coal),
      path("M0 -78L16 -75L0 -74Z", b.lit("#f08a3c")),
      stroke("M-6 -72Q0 -68 6 -72", coal, 1.2, { "stroke-dasharray": "0.1 2.6" }),
      rect(-17, -91, 34, 4, coal, { rx: 2 }),
      rect(-11, -104, 22, 14, coal, { rx: 2 }),
      rect(-11, -95, 22, 4, b.accent),
    ].join("");
  },
};

const wizard: Subject = {
  stands: "ground",
  tall: 360,
  aspect: 0.7,
  colors: [["#5a4fa0", "#f4d35e"]],
  draw: (b) => {
    const star = (x: number, y: number, r: number): string =>
      path(
        `M${x} ${y - r}L${x + r * 0.3} ${y - r * 0.3}L${x + r} ${y}L${x + r * 0.3} ${y + r * 0.3}L${x} ${y + r}L${x - r * 0.3} ${y + r * 0.3}L${x - r} ${y}L${x - r * 0.3} ${y - r * 0.3}Z`,
        b.accent,
      );
    return [
      stroke("M28 0L26 -72", b.lit("#7a5038"), 2.6),
      circle(26, -76, 5.6 + sway(b.phase) * 0.8, b.lit("#8ff0ff")),
      circle(26, -76, 10 + sway(b.phase), "#8ff0ff", { "fill-opacity": 0.25 }),
      path("M-14 -56Q0 -64 14 -56L26 0H-26Z", b.body),
      path("M-4 -50L-7 0H8L5 -50Z", b.dark),
      stroke("M12 -52L26 -42", b.main, 9),
      circle(27, -42, 3.4, b.lit("#f3c9a5")),
      stroke("M-12 -52L-22 -34", b.main, 9),
      circle(-23, -31, 3.4, b.lit("#f3c9a5")),
      circle(0, -64, 10, b.lit("#f3c9a5")),
      path("M-10 -64C-12 -44 -4 -34 0 -30C4 -34 12 -44 10 -64Q0 -56 -10 -64Z", b.lit("#f4f1ee")),
      eyes(b, 0, -66, 3.8, 1.3),
      path("M-2 -64Q0 -60 2 -64Z", b.lit("#e0a884")),
      path("M-20 -68Q0 -76 20 -68Q0 -62 -20 -68Z", b.deep),
      path("M-12 -70Q-2 -92 8 -102Q6 -94 10 -88Q10 -78 12 -70Q0 -66 -12 -70Z", b.body),
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
  draw: (b) =>
    [
      path("M-16 -60L-26 -6Q-10 -12 0 -8V-60Z", b.accent),
      stroke("M-8 -28L-9 -4M8 -28L9 -4", b.dark, 10),
      path("M-17 0V-5Q-9 -9 -2 -5V0ZM17 0V-5Q9 -9 2 -5V0Z", b.deep),
      path("M-18 -58Q0 -70 18 -58L15 -28Q0 -22 -15 -28Z", b.body),
      path("M-8 -62H8L6 -26H-6Z", b.accent),
      path("M0 -54L4 -47L0 -36L-4 -47Z", b.lit("#f0c04a")),
      circle(-18, -58, 7, b.dark),
      circle(18, -58, 7, b.dark),
      stroke("M20 -54L29 -40", b.main, 7),
      stroke("M30 -24V-84", b.lit("#e4e8ec"), 3.4),
      stroke("M24 -40H36", b.lit("#c99a3c"), 3),
      stroke("M30 -38V-30", b.lit("#6b4636"), 3),
      path("M-36 -54Q-24 -60 -14 -54Q-14 -34 -25 -24Q-36 -34 -36 -54Z", b.accent),
      path("M-25 -57V-25Q-36 -34 -36 -54Q-30 -57 -25 -57Z", b.lit("#f4e6c8")),
      path("M-12 -82C-12 -96 12 -96 12 -82V-68Q0 -60 -12 -68Z", b.body),
      path("M-12 -82H12V-76H-12Z", b.lit("#2c2a36")),
      stroke("M0 -94V-66M-6 -72v4M6 -72v4", b.deep, 1.4),
      path("M0 -94C4 -106 16 -106 22 -98C16 -98 12 -92 4 -91Z", b.accent),
    ].join(""),
};

export const people = { person, dancer, astronaut, robot, snowman, wizard, knight } as const;
