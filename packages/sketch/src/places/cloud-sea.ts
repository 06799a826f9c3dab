/** A sea of clouds seen from above. */

import { mix } from "../color.ts";
import { cloud } from "../scene/clouds.ts";
import type { Layer, Stage } from "../scene/stage.ts";
import { sway } from "../subjects/subject.ts";
import { group, num, rect } from "../svg.ts";

/** Rows of clouds in place of the ground. */
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
      stage.defs.vertical(
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
