/** Color schemes of abstract compositions: the ground, then five accents. */
import { type Color, mix, toLch, tone } from "../color.ts";
import type { Random } from "../random.ts";

const schemes = [
  "#f6ead7 #e4572e #17bebb #ffc914 #2e282a #76b041",
  "#0f1b3d #f25f5c #ffe066 #50b8b8 #247ba0 #f7f3e3",
  "#f2efe6 #264653 #2a9d8f #e9c46a #f4a261 #e76f51",
  "#1d1135 #ff6b9d #c44dff #4dd0ff #ffd166 #fff1e6",
  "#fbf3e4 #3d405b #e07a5f #81b29a #f2cc8f #c8553d",
  "#e9f1f2 #05668d #028090 #00a896 #02c39a #f0b86e",
  "#231f20 #d9b48f #a6775b #e8d8c4 #bf5b3f #6d8a82",
  "#fff4ec #f78fa7 #b892ff #70d6ff #ffd670 #ff9770",
  "#12263a #06bcc1 #c5d8d1 #f4edea #f4d1ae #d9594c",
  "#faf6ef #355070 #6d597a #b56576 #e56b6f #eaac8b",
  "#f0f4ea #386641 #6a994e #a7c957 #f2c14e #bc4749",
  "#0b132b #3a506b #5bc0be #f2f5ea #ffb86b #e56b8a",
] as const;

export interface Scheme {
  readonly ground: Color;
  readonly accents: readonly [Color, ...Color[]];
  readonly dark: boolean;
}

/** Named colors replace accents of a random scheme. */
export function schemeFor(random: Random, named: readonly Color[]): Scheme {
  const [ground = "#ffffff", ...rest] = random.pick(schemes).split(" ");
  const [first = "#333333", ...others] = rest;
  const lead = named[0];
  const back =
    lead === undefined
      ? ground
      : mix(ground, tone(lead, toLch(ground).lightness > 0.6 ? 0.34 : -0.34), 0.5);
  const own = named.flatMap((color) => [color, tone(color, 0.13), tone(color, -0.13)]);
  const [a = first, ...more] = [
    ...own,
    ...(named.length > 0 ? others.slice(0, 2) : [first, ...others]),
  ];
  return { ground: back, accents: [a, ...more], dark: toLch(back).lightness < 0.5 };
}
