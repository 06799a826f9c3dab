/** People: person, dancer, astronaut. */
import { tone } from "../color.ts";
import { circle, group, path, rect, stroke } from "../svg.ts";
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
  draw: (brush) => {
    const random = brush.random.fork("person");
    const skin = brush.lit(random.pick(skins));
    const hair = brush.lit(random.pick(hairs));
    const long =
      /^(girl|woman|lady)$/.test(brush.word) ||
      (!/^(boy|man|guy|fisherman|sailor|farmer)$/.test(brush.word) && random.chance(0.5));
    const wave = sway(brush.phase) * 5;
    return [
      long ? path("M-10 -92C-15 -80 -14 -66 -12 -62H12C14 -66 15 -80 10 -92Z", hair) : "",
      path("M-8 -36L-9 -3H-2L0 -32L2 -3H9L8 -36Z", brush.accent),
      path("M-10 -4Q-12 0 -12 0H-1V-4ZM10 -4Q12 0 12 0H1V-4Z", brush.lit("#3b2c2c")),
      group(
        { transform: `rotate(${wave * 0.5} -12 -64)` },
        stroke("M-12 -62L-17 -40", brush.dark, 6),
        circle(-17.5, -37, 3, skin),
      ),
      path("M-14 -62Q-12 -69 -4 -69H4Q12 -69 14 -62L12 -33Q0 -29 -12 -33Z", brush.body),
      group(
        { transform: `rotate(${-wave * 0.5} 12 -64)` },
        stroke("M12 -62L17 -40", brush.dark, 6),
        circle(17.5, -37, 3, skin),
      ),
      path("M-9 -68Q0 -62 9 -68L10 -64Q0 -57 -10 -64Z", tone(brush.main, 0.14)),
      rect(-3, -73, 6, 7, shadow(skin, 0.08)),
      path("M-10 -86C-10 -96 10 -96 10 -86C11 -76 6 -70 0 -70C-6 -70 -11 -76 -10 -86Z", skin),
      path(
        "M-11 -84C-13 -98 -4 -101 1 -100C10 -100 13 -92 11 -84C9 -88 7 -91 4 -92C-1 -89 -7 -89 -11 -84Z",
        hair,
      ),
      circle(-4, -82, 1.2, brush.lit("#2a1f26")),
      circle(4, -82, 1.2, brush.lit("#2a1f26")),
      stroke("M-3 -76.500Q0 -74.500 3 -76.500", brush.lit("#a0524a"), 0.9),
      circle(-6.5, -79, 1.6, brush.lit("#ec8a80"), { "fill-opacity": 0.5 }),
      circle(6.5, -79, 1.6, brush.lit("#ec8a80"), { "fill-opacity": 0.5 }),
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
  draw: (brush) => {
    const random = brush.random.fork("dancer");
    const skin = brush.lit(random.pick(skins));
    const hair = brush.lit(random.pick(hairs));
    return group(
      { transform: `rotate(${sway(brush.phase) * 3})` },
      stroke("M2 -38L0 0M4 -38L16 -22L6 -14", skin, 4.6),
      stroke("M0 -4V0", brush.main, 5),
      stroke("M-6 -64C-18 -70 -24 -84 -20 -96M8 -64C20 -66 28 -62 34 -70", skin, 4),
      path("M-8 -66Q2 -62 9 -66L8 -50H-5Z", brush.body),
      path(
        "M-6 -52C-22 -44 -30 -36 -34 -30Q-24 -28 -18 -32Q-10 -24 0 -30Q12 -24 20 -31Q28 -28 36 -32C30 -42 20 -48 9 -52Z",
        brush.body,
      ),
      path(
        "M-6 -52C-18 -44 -24 -40 -28 -36Q-10 -34 0 -38Q12 -34 28 -38C22 -44 16 -48 9 -52Z",
        brush.accent,
        { "fill-opacity": 0.7 },
      ),
      rect(-1.5, -72, 5, 7, shadow(skin, 0.08)),
      circle(1, -79, 8.6, skin),
      path("M-8 -80C-9 -92 10 -94 10 -80C6 -86 -2 -86 -8 -80Z", hair),
      circle(3, -92, 4.6, hair),
      circle(3, -87.5, 2, brush.main),
      stroke("M-4 -79q1.500 1.500 3 0M3 -79q1.500 1.500 3 0", brush.lit("#2a1f26"), 0.9),
      stroke("M-1 -74.500Q1 -73 3.400 -74.500", brush.lit("#a0524a"), 0.9),
    );
  },
};

const astronaut: Subject = {
  stands: "ground",
  tall: 340,
  aspect: 0.62,
  colors: [["#f1eff0", "#e2703a"]],
  draw: (brush) => {
    const visor = brush.defs.linear(
      [
        [0, "#3a4a78"],
        [0.5, "#20284a"],
        [1, "#0f1430"],
      ],
      [0, 0, 1, 1],
    );
    return group(
      { transform: `rotate(${sway(brush.phase) * 3} 0 -50)` },
      rect(-18, -66, 36, 36, brush.deep, { rx: 6 }),
      group(
        { transform: `rotate(${sway(brush.phase, 0.2) * 6} -18 -60)` },
        stroke("M-18 -58L-28 -38", brush.dark, 11),
        circle(-29, -35, 5.6, brush.accent),
      ),
      group(
        { transform: `rotate(${-20 - sway(brush.phase) * 8} 18 -60)` },
        stroke("M18 -58L32 -70", brush.main, 11),
        circle(34, -73, 5.6, brush.accent),
      ),
      stroke("M-8 -28L-9 -8M8 -28L9 -8", brush.main, 13),
      path("M-18 0V-7Q-10 -12 -2 -7V0ZM18 0V-7Q10 -12 2 -7V0Z", brush.deep),
      rect(-16, -20, 14, 4, brush.accent),
      rect(2, -20, 14, 4, brush.accent),
      path("M-20 -58Q-20 -66 -10 -66H10Q20 -66 20 -58L18 -28Q0 -22 -18 -28Z", brush.body),
      rect(-9, -52, 18, 13, brush.lit("#cfd4dc"), { rx: 2 }),
      circle(-4, -46, 2, brush.lit("#e2493f")),
      circle(2, -46, 2, brush.lit("#5fb87a")),
      rect(-6, -42.5, 12, 1.6, brush.lit("#6d7a90")),
      circle(0, -80, 21, brush.body),
      path("M-15 -82C-15 -92 15 -92 15 -82C15 -70 9 -67 0 -67C-9 -67 -15 -70 -15 -82Z", visor),
      path(
        "M-11 -83C-10 -88 -5 -89 -2 -89C-7 -86 -8 -82 -8 -78C-10 -78 -11 -80 -11 -83Z",
        "#ffffff",
        { "fill-opacity": 0.6 },
      ),
      circle(8, -76, 1.4, "#ffffff", { "fill-opacity": 0.7 }),
      rect(-23, -84, 4, 9, brush.accent, { rx: 1.5 }),
      rect(19, -84, 4, 9, brush.accent, { rx: 1.5 }),
    );
  },
};

export const people = { person, dancer, astronaut } as const;
