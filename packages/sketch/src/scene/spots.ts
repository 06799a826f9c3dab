/** Positions of subjects: in rows on the ground, or spread out in the air. */

import type { Mention } from "../prompt/brief.ts";
import type { Random } from "../random.ts";
import { type SubjectName, subjectOf } from "../subjects/catalog.ts";
import type { Subject } from "../subjects/subject.ts";
import type { Ground } from "./ground.ts";
import type { Stage } from "./stage.ts";

export interface Spot {
  readonly x: number;
  /** The position of its feet. */
  readonly y: number;
  /** The height at which it is drawn. */
  readonly tall: number;
}

/** The part of the width that the subjects of one mention get. */
export interface Slot {
  readonly from: number;
  readonly width: number;
  /** No other mention stands, or flies, beside it. */
  readonly alone: boolean;
  /** The number of mentions in the scene. */
  readonly crowd: number;
  /** A close view. */
  readonly close: boolean;
}

/** Subjects that look right only from a distance. */
const farSubjects: ReadonlySet<SubjectName> = new Set([
  "house",
  "castle",
  "lighthouse",
  "windmill",
  "church",
  "pagoda",
  "tree",
  "blossomTree",
  "pine",
  "palm",
  "bridge",
  "ship",
  "train",
]);

export const isFar = (mention: Mention): boolean => farSubjects.has(mention.name);

export const flies = (mention: Mention, ground: Ground): boolean => {
  const { stands } = subjectOf(mention.name);
  return stands === "air" || ground === "none" || (ground === "deep" && mention.name !== "crab");
};

/** Limits the height, so that a subject fits into the frame for every size word. */
function boundedHeight(
  stage: Stage,
  subject: Subject,
  height: number,
  maxHeight: number,
  maxWidth: number,
): number {
  const frameWidth = stage.width * 0.94;
  return Math.min(height, maxHeight, maxWidth / subject.aspect, frameWidth / subject.aspect);
}

export function standingSpots(
  stage: Stage,
  random: Random,
  slot: Slot,
  mention: Mention,
  ground: Ground,
): Spot[] {
  const { width, height, horizon } = stage;
  const subject = subjectOf(mention.name);
  const onWater = ground === "water" && subject.stands === "water";
  // Subjects that do not float stand on the shore, not on the water.
  const ashore = ground === "water" && !onWater;
  const base = baseline(stage, slot, mention, ground);
  const availableWidth = slot.alone ? width * 0.9 : slot.width * 1.06;
  const scale =
    heroScale(slot) * crowdScale(mention.count) * mention.size * (slot.close ? 1.45 : 1);
  const tall = boundedHeight(
    stage,
    subject,
    subject.tall * scale,
    (base - height * 0.05) * 0.92,
    availableWidth / Math.min(mention.count, 3) ** 0.75,
  );
  const place = (x: number, y: number, size: number): Spot => {
    const half = Math.min(width / 2, (size * subject.aspect) / 2 + width * 0.02);
    return { x: Math.min(width - half, Math.max(half, x)), y, tall: size };
  };
  if (mention.count === 1) {
    const middle = slot.alone && !slot.close ? oppositeTheSun(stage) : centerOf(slot);
    return [place(middle + random.between(-0.02, 0.02) * width, base, tall)];
  }
  // Rows of up to four. Rear rows are smaller and closer to the horizon.
  const rows = Math.ceil(mention.count / 4);
  return Array.from({ length: mention.count }, (_, i) => {
    const row = Math.floor(i / 4);
    const inRow = Math.min(4, mention.count - row * 4);
    const t = rows === 1 ? 0 : row / (rows - 1);
    const size = tall * (1 - t * 0.42) * random.between(0.9, 1.08);
    const step = Math.min(slot.width / (inRow + 0.3), tall * subject.aspect * 1.14) * (1 - t * 0.2);
    const offset = (i % 4) - (inRow - 1) / 2 + (row % 2 ? 0.45 : 0);
    const y =
      base +
      (i % 2 ? -0.035 : 0.02) * height -
      t * (base - horizon) * (ashore ? 0.1 : 0.62) +
      (rows > 1 ? 0.05 * height : 0);
    return place(centerOf(slot) + offset * step, Math.min(y, height * 0.97), size);
  });
}

/** The `y` of the feet of the first row. */
function baseline(
  { height, horizon }: Stage,
  slot: Slot,
  mention: Mention,
  ground: Ground,
): number {
  if (ground === "table") return height * 0.9;
  const onWater = ground === "water" && subjectOf(mention.name).stands === "water";
  if (ground === "water" && !onWater) return height * (isFar(mention) ? 0.82 : 0.9);
  const depth = onWater ? waterDepth(slot) : landDepth(slot, mention);
  return Math.min(horizon + (height - horizon) * depth, height * 0.93);
}

/** With several subjects a shore may be in front, and floating subjects stay clear of it. */
const waterDepth = ({ crowd }: Slot): number => (crowd > 1 ? 0.24 : 0.46);

function landDepth({ crowd }: Slot, mention: Mention): number {
  if (!isFar(mention)) return 0.74;
  return crowd === 1 ? 0.46 : 0.3;
}

/** A single subject is drawn larger than subjects that share the scene. */
function heroScale({ crowd }: Slot): number {
  if (crowd === 1) return 1.3;
  return crowd === 2 ? 1.08 : 0.92;
}

function crowdScale(count: number): number {
  if (count === 1) return 1;
  if (count === 2) return 0.86;
  if (count === 3) return 0.78;
  return count < 7 ? 0.62 : 0.46;
}

function flockScale(count: number): number {
  if (count === 1) return 1;
  if (count < 4) return 0.7;
  return count < 8 ? 0.52 : 0.36;
}

const centerOf = ({ from, width }: Slot): number => from + width / 2;
const oppositeTheSun = ({ width, sun }: Stage): number => width * (sun.x < width / 2 ? 0.6 : 0.4);

export function flyingSpots(
  stage: Stage,
  random: Random,
  slot: Slot,
  mention: Mention,
  company: boolean,
  ground: Ground,
): Spot[] {
  const { width, height, horizon } = stage;
  const subject = subjectOf(mention.name);
  const floor =
    ground === "none" || ground === "deep" ? height * 0.9 : Math.min(horizon * 1.02, height * 0.92);
  const ceiling = height * 0.06;
  const hero = slot.crowd === 1 ? 1.25 : 0.9;
  const swarm = mention.name === "bird" && mention.count === 1 ? 1.5 : 1;
  const tall = boundedHeight(
    stage,
    subject,
    subject.tall * hero * flockScale(mention.count) * mention.size * swarm * (slot.close ? 1.5 : 1),
    (floor - ceiling) * (company ? 0.62 : 0.86),
    slot.width * 0.9,
  );
  if (mention.count === 1) {
    const x = slot.alone ? oppositeTheSun(stage) : centerOf(slot);
    const middle = company ? ceiling + (floor - ceiling) * 0.42 : (ceiling + floor) / 2;
    const half = (tall * subject.aspect) / 2 + 10;
    return [{ x: Math.min(width - half, Math.max(half, x)), y: middle + tall / 2, tall }];
  }
  const spots: Spot[] = [];
  for (let i = 0; i < mention.count; i++) {
    const size = tall * (i === 0 ? 1.25 : random.between(0.55, 1.05));
    // Best-candidate sampling: of 14 random positions, the one farthest from the others.
    let best: Spot | undefined;
    let room = -1;
    for (let attempt = 0; attempt < 14; attempt++) {
      const half = Math.min(slot.width / 2, (size * subject.aspect) / 2);
      const candidate = {
        x: slot.from + half + random.next() * Math.max(1, slot.width - half * 2),
        y: ceiling + size + random.next() * Math.max(1, floor - ceiling - size),
        tall: size,
      };
      const gap = Math.min(
        1e6,
        ...spots.map(
          (other) =>
            Math.hypot(other.x - candidate.x, other.y - other.tall / 2 - candidate.y + size / 2) -
            (other.tall + size) * 0.45,
        ),
      );
      if (gap > room) [best, room] = [candidate, gap];
      best ??= candidate;
    }
    if (best !== undefined) spots.push(best);
  }
  return spots;
}
