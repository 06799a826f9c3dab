/** Where feet and wings go: places on the ground in rows, places in the air apart from each other. */

import type { Mention } from "../prompt/brief.ts";
import type { Random } from "../random.ts";
import { type SubjectName, subjectOf } from "../subjects/catalog.ts";
import type { Subject } from "../subjects/subject.ts";
import type { Ground } from "./scenery.ts";
import type { Stage } from "./stage.ts";

export interface Spot {
  readonly x: number;
  /** Of its feet. */
  readonly y: number;
  /** Height drawn. */
  readonly tall: number;
}

export interface Share {
  readonly from: number;
  readonly width: number;
  readonly alone: boolean;
  readonly crowd: number;
  readonly close: boolean;
}

/** Things that look right only at some distance. */
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

/** Never larger than the frame, whatever the words say. */
function fit(stage: Stage, subject: Subject, tall: number, room: number, width: number): number {
  return Math.min(tall, room, width / subject.aspect, (stage.width * 0.94) / subject.aspect);
}

export function standing(
  stage: Stage,
  random: Random,
  share: Share,
  mention: Mention,
  ground: Ground,
): Spot[] {
  const { width, height, horizon } = stage;
  const subject = subjectOf(mention.name);
  const onWater = ground === "water" && subject.stands === "water";
  const far = isFar(mention);
  // In company there may be a shore in front, so what floats stays clear of it.
  const depth = onWater
    ? share.crowd > 1
      ? 0.24
      : 0.46
    : far
      ? share.crowd === 1
        ? 0.46
        : 0.3
      : 0.74;
  // On a shore one stands on the shore, not on the water.
  const ashore = ground === "water" && !onWater;
  const base =
    ground === "table"
      ? height * 0.9
      : ashore
        ? height * (far ? 0.82 : 0.9)
        : Math.min(horizon + (height - horizon) * depth, height * 0.93);
  const hero = share.crowd === 1 ? 1.3 : share.crowd === 2 ? 1.08 : 0.92;
  const crowding =
    mention.count === 1
      ? 1
      : mention.count === 2
        ? 0.86
        : mention.count === 3
          ? 0.78
          : mention.count < 7
            ? 0.62
            : 0.46;
  const roomy = share.alone ? width * 0.9 : share.width * 1.06;
  const scale = hero * crowding * mention.size * (share.close ? 1.45 : 1);
  const tall = fit(
    stage,
    subject,
    subject.tall * scale,
    (base - height * 0.05) * 0.92,
    roomy / Math.min(mention.count, 3) ** 0.75,
  );
  const wide = tall * subject.aspect;
  const middle =
    share.alone && mention.count === 1 && !share.close
      ? width * (stage.sun.x < width / 2 ? 0.6 : 0.4)
      : share.from + share.width / 2;
  const place = (x: number, y: number, size: number): Spot => {
    const half = Math.min(width / 2, (size * subject.aspect) / 2 + width * 0.02);
    return { x: Math.min(width - half, Math.max(half, x)), y, tall: size };
  };
  if (mention.count === 1) return [place(middle + random.between(-0.02, 0.02) * width, base, tall)];
  // Rows of up to four, the rear ones smaller and closer to the horizon.
  const rows = Math.ceil(mention.count / 4);
  return Array.from({ length: mention.count }, (_, i) => {
    const row = Math.floor(i / 4);
    const inRow = Math.min(4, mention.count - row * 4);
    const t = rows === 1 ? 0 : row / (rows - 1);
    const size = tall * (1 - t * 0.42) * random.between(0.9, 1.08);
    const step = Math.min(share.width / (inRow + 0.3), wide * 1.14) * (1 - t * 0.2);
    const offset = (i % 4) - (inRow - 1) / 2 + (row % 2 ? 0.45 : 0);
    const y =
      base +
      (i % 2 ? -0.035 : 0.02) * height -
      t * (base - horizon) * (ashore ? 0.1 : 0.62) +
      (rows > 1 ? 0.05 * height : 0);
    return place(share.from + share.width / 2 + offset * step, Math.min(y, height * 0.97), size);
  });
}

export function flying(
  stage: Stage,
  random: Random,
  share: Share,
  mention: Mention,
  company: boolean,
  ground: Ground,
): Spot[] {
  const { width, height, horizon } = stage;
  const subject = subjectOf(mention.name);
  const floor =
    ground === "none" || ground === "deep" ? height * 0.9 : Math.min(horizon * 1.02, height * 0.92);
  const ceiling = height * 0.06;
  const hero = share.crowd === 1 ? 1.25 : 0.9;
  const crowding =
    mention.count === 1 ? 1 : mention.count < 4 ? 0.7 : mention.count < 8 ? 0.52 : 0.36;
  const swarm = mention.name === "bird" && mention.count === 1 ? 1.5 : 1;
  const tall = fit(
    stage,
    subject,
    subject.tall * hero * crowding * mention.size * swarm * (share.close ? 1.5 : 1),
    (floor - ceiling) * (company ? 0.62 : 0.86),
    share.width * 0.9,
  );
  if (mention.count === 1) {
    const x = share.alone
      ? width * (stage.sun.x < width / 2 ? 0.6 : 0.4)
      : share.from + share.width / 2;
    const middle = company ? ceiling + (floor - ceiling) * 0.42 : (ceiling + floor) / 2;
    const half = (tall * subject.aspect) / 2 + 10;
    return [{ x: Math.min(width - half, Math.max(half, x)), y: middle + tall / 2, tall }];
  }
  const spots: Spot[] = [];
  for (let i = 0; i < mention.count; i++) {
    const size = tall * (i === 0 ? 1.25 : random.between(0.55, 1.05));
    // Best of many tries keeps them apart from each other.
    let best: Spot | undefined;
    let room = -1;
    for (let attempt = 0; attempt < 14; attempt++) {
      const half = Math.min(share.width / 2, (size * subject.aspect) / 2);
      const candidate = {
        x: share.from + half + random.next() * Math.max(1, share.width - half * 2),
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
