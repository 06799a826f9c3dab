/** The standing leg that four-legged animals share. */
import { path, rect } from "../svg.ts";

export const leg = (x: number, top: number, width: number, fill: string, foot: string): string =>
  path(
    `M${x - width / 2} ${top}L${x - width * 0.42} 0H${x + width * 0.42}L${x + width / 2} ${top}Z`,
    fill,
  ) + rect(x - width * 0.46, -5, width * 0.92, 5, foot, { rx: 1.4 });
