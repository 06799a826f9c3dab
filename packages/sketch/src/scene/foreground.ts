/** Foreground: dark shapes at the lower corners that give depth. */
import { tone } from "../color.ts";
import { conifer } from "../places/terrain.ts";
import { sway } from "../subjects/subject.ts";
import { circle, num, path, stroke } from "../svg.ts";
import { lit } from "./palette.ts";
import { type Layer, type Stage, scaledCount } from "./stage.ts";

export type ForegroundKind = "grass" | "pines" | "reeds" | "none";

export function foreground(stage: Stage, frame: ForegroundKind): Layer[] {
  if (frame === "none") return [];
  const svg = frame === "pines" ? pines(stage) : tallGrass(stage, frame === "reeds");
  return [{ name: "foreground", svg }];
}

function pines(stage: Stage): string {
  const { width, height, palette } = stage;
  const random = stage.random.fork("pines");
  const dark = tone(lit(palette, "#2f5247"), -0.06);
  const side = stage.sun.x < width / 2 ? 1 : 0;
  let d = "";
  for (let i = 0; i < 7; i++) {
    const edge = random.next() ** 1.6 * 0.2;
    const x = width * (side === 1 ? 1 - edge : edge);
    d += conifer(
      random,
      x,
      height * random.between(0.98, 1.04),
      height * (0.5 - edge * 1.4) * random.between(0.7, 1),
    );
  }
  for (let i = 0; i < 3; i++) {
    const edge = random.next() * 0.09;
    d += conifer(
      random,
      width * (side === 1 ? edge : 1 - edge),
      height * 1.03,
      height * random.between(0.14, 0.24),
    );
  }
  return path(d, dark);
}

function tallGrass(stage: Stage, reeds: boolean): string {
  const { width, height, palette, phase } = stage;
  const random = stage.random.fork("tall grass");
  const dark = tone(lit(palette, reeds ? "#4a6a4c" : "#3f6a3c"), -0.06);
  let blades = "";
  const heads: string[] = [];
  for (let i = 0; i < scaledCount(stage, 54); i++) {
    const edge = random.next() ** 1.8 * 0.34;
    const x = random.chance(0.5) ? edge * width : (1 - edge) * width;
    const tall = height * (0.17 - edge * 0.32) * random.between(0.6, 1.2);
    if (tall < 12) continue;
    const lean = random.between(-0.3, 0.3) * tall + sway(phase, x / width) * 5;
    blades += `M${num(x - 4)} ${num(height + 4)}Q${num(x + lean * 0.2)} ${num(height - tall * 0.6)} ${num(x + lean)} ${num(height - tall)}Q${num(x + lean * 0.3 + 3)} ${num(height - tall * 0.5)} ${num(x + 4)} ${num(height + 4)}Z`;
    if (reeds && random.chance(0.4))
      heads.push(
        stroke(
          `M${num(x + lean)} ${num(height - tall)}l${num(lean * 0.1)} ${num(-26)}`,
          tone(lit(palette, "#7a5238"), -0.05),
          9,
        ),
      );
    else if (random.chance(0.16))
      heads.push(
        circle(
          x + lean,
          height - tall,
          random.between(5, 9),
          lit(palette, random.pick(["#f4e6b8", "#f0b0a8", "#e8d0f0"])),
        ),
      );
  }
  return path(blades, dark) + heads.join("");
}
