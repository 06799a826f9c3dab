/** The six times of day: sky colors, light and darkness. */
import type { Color } from "../color.ts";

export const times = ["dawn", "day", "golden", "sunset", "dusk", "night"] as const;
export type TimeOfDay = (typeof times)[number];

type SkyColors = readonly [
  sky: readonly Color[],
  sun: Color,
  glow: Color,
  cloudLit: Color,
  cloudShade: Color,
];

export interface TimeLighting {
  readonly light: Color;
  readonly variants: readonly [SkyColors, ...SkyColors[]];
  /** The default is a mix of the upper sky colors. */
  readonly ambient?: Color;
  /** The share of the middle sky color in the haze: with a low sun, distant land is in shade. */
  readonly backlit: number;
  readonly tint: number;
  readonly dim: number;
  readonly sunHeight: readonly [number, number];
}

export const timesOfDay: Record<TimeOfDay, TimeLighting> = {
  dawn: {
    light: "#ffd6c8",
    variants: [
      [
        ["#3d4a7c", "#7d78ad", "#d59bb4", "#f8c4a8", "#fde8c4"],
        "#fff3d6",
        "#ffd9a0",
        "#ffe4d2",
        "#c08fae",
      ],
      [
        ["#49679a", "#8aa0c8", "#dcb9c8", "#f9d2b8", "#fff0d6"],
        "#fff7e2",
        "#ffe0b0",
        "#fff0e2",
        "#b79bb8",
      ],
      [
        ["#2f5573", "#6f9aa8", "#bcc9ba", "#f3d7b0", "#fcebc8"],
        "#fff6dc",
        "#ffe6b4",
        "#fff1dc",
        "#a8a8b0",
      ],
    ],
    backlit: 0.34,
    tint: 0.1,
    dim: 0.12,
    sunHeight: [0.06, 0.22],
  },
  day: {
    light: "#ffffff",
    variants: [
      [
        ["#2d7fc4", "#5da8de", "#9bd0ec", "#d4ecf3", "#f1f8f2"],
        "#fffbe6",
        "#fff6cf",
        "#ffffff",
        "#b9d3e6",
      ],
      [
        ["#3f8fc9", "#77bce0", "#b4dde9", "#e4f2e8", "#f8f4dd"],
        "#fffbe6",
        "#fff3c8",
        "#ffffff",
        "#c2d6df",
      ],
      [
        ["#2a6fb0", "#4f9bd2", "#8cc6e6", "#c4e4ee", "#e6f3ee"],
        "#fffdf0",
        "#fffbe0",
        "#ffffff",
        "#a8c6de",
      ],
    ],
    ambient: "#fff6e0",
    backlit: 0.2,
    tint: 0.03,
    dim: 0,
    sunHeight: [0.58, 0.82],
  },
  golden: {
    light: "#ffdb9c",
    variants: [
      [
        ["#5b8fb0", "#97b6b8", "#dccf9f", "#f7cf86", "#ffe3a6"],
        "#fff6d8",
        "#ffdf94",
        "#fff1d0",
        "#d0a880",
      ],
      [
        ["#4f7fa8", "#9cb4bf", "#efcfa8", "#f8bd82", "#ffdc9c"],
        "#fff4d0",
        "#ffd586",
        "#ffeccb",
        "#c99a82",
      ],
    ],
    ambient: "#f2a860",
    backlit: 0.22,
    tint: 0.06,
    dim: 0.08,
    sunHeight: [0.16, 0.34],
  },
  sunset: {
    light: "#ffa98c",
    variants: [
      [
        ["#33235f", "#7a2f74", "#cf4a68", "#f7855a", "#ffc778"],
        "#fff0c0",
        "#ffb45e",
        "#ffb39a",
        "#8a3c72",
      ],
      [
        ["#1f3263", "#5a4a86", "#b9638c", "#f29070", "#ffd29a"],
        "#fff3cf",
        "#ffbe7a",
        "#ffc2a8",
        "#7a5088",
      ],
      [
        ["#412a66", "#93406f", "#e0606a", "#fb9c58", "#ffd882"],
        "#fff2c4",
        "#ffc062",
        "#ffc4a0",
        "#9a4a70",
      ],
      [
        ["#1f3f78", "#5a6aa8", "#d07a98", "#fb9a72", "#ffd596"],
        "#fff4d2",
        "#ffc774",
        "#ffcdb8",
        "#7a5c9a",
      ],
    ],
    backlit: 0.42,
    tint: 0.12,
    dim: 0.26,
    sunHeight: [0.0, 0.13],
  },
  dusk: {
    light: "#9a8ad0",
    variants: [
      [
        ["#171d47", "#33356f", "#6a4f8e", "#c27a96", "#f3b79a"],
        "#ffe6c0",
        "#f7b08c",
        "#c28aa8",
        "#4a3f78",
      ],
      [
        ["#12284a", "#2b4a74", "#5f7396", "#b08ea0", "#eebc9c"],
        "#ffe9c8",
        "#f0b394",
        "#b499b0",
        "#3f4c78",
      ],
    ],
    backlit: 0.45,
    tint: 0.16,
    dim: 0.42,
    sunHeight: [-0.03, 0.03],
  },
  night: {
    light: "#7689d2",
    variants: [
      [
        ["#070b24", "#0d1840", "#182c60", "#2d4a80", "#4c6c9c"],
        "#f7f2dc",
        "#a9bfe8",
        "#5a6f9f",
        "#1f2d58",
      ],
      [
        ["#0b0a2a", "#1a1650", "#322a72", "#54478e", "#7d6ca6"],
        "#fbf3df",
        "#c3b4ea",
        "#6e62a2",
        "#281f58",
      ],
      [
        ["#04161f", "#082b3a", "#0f465a", "#1d6676", "#43898e"],
        "#f4f7e6",
        "#a4dcd8",
        "#4c8490",
        "#123a4a",
      ],
    ],
    ambient: "#2c3f7c",
    backlit: 0.3,
    tint: 0.2,
    dim: 0.6,
    sunHeight: [0.5, 0.8],
  },
};
