/**
 * Places the subjects in the scene: groups divide the width, riders sit on their mounts, held objects are next to
 * their holder.
 */
import { mix } from "../color.ts";
import type { Brief, Mention } from "../prompt/brief.ts";
import { colorsByWord } from "../prompt/subject-words.ts";
import type { Random } from "../random.ts";
import { subjectOf } from "../subjects/catalog.ts";
import { brushFor, type ColorPair, shadow } from "../subjects/subject.ts";
import { ellipse, group, num, preciseNum } from "../svg.ts";
import type { Ground } from "./ground.ts";
import { lit } from "./palette.ts";
import { flies, flyingSpots, isFar, type Slot, type Spot, standingSpots } from "./spots.ts";
import type { Layer, Stage } from "./stage.ts";

interface Placed extends Spot {
  readonly mention: Mention;
  readonly index: number;
  readonly rider?: Mention;
  readonly held?: true;
  /** The `y` that decides the drawing order, if it differs from the feet. */
  readonly depth?: number;
}

interface Group {
  readonly mention: Mention;
  readonly rider?: Mention | undefined;
}

/** With `filling`, the subjects are moved and scaled together to fill the frame, because nothing else is in it. */
export function placeSubjects(
  stage: Stage,
  brief: Brief,
  ground: Ground,
  filling = false,
): Layer[] {
  const groups = groupsOf(brief);
  const flying = groups.filter(({ mention }) => flies(mention, ground));
  const standing = groups.filter(({ mention }) => !flies(mention, ground));
  const random = stage.random.fork("placement");
  const slotOptions = { crowd: groups.length, close: brief.close };
  const placed: Placed[] = [
    ...spread(stage, standing, slotOptions, (slot, mention) =>
      standingSpots(stage, random.fork(mention.name), slot, mention, ground),
    ),
    ...spread(stage, flying, slotOptions, (slot, mention) =>
      flyingSpots(stage, random.fork(mention.name), slot, mention, standing.length > 0, ground),
    ),
  ];
  for (const mention of brief.subjects) {
    const holder = placed.find((one) => one.mention === brief.subjects[mention.heldBy ?? -1]);
    if (holder !== undefined) placed.push(heldSpot(mention, holder));
  }
  placed.sort((a, b) => (a.depth ?? a.y) - (b.depth ?? b.y));
  const layers = placed.map(
    (one): Layer => ({
      name: `${one.mention.name} ${one.index}`,
      svg: drawSubject(stage, one, ground),
    }),
  );
  return filling ? scaleToFill(stage, placed, layers) : layers;
}

/** The mentions that need a place of their own. Riders and held objects are placed with their mount or holder. */
function groupsOf({ subjects }: Brief): Group[] {
  const riders = new Map<number, Mention>();
  for (const mention of subjects) if (mention.on !== undefined) riders.set(mention.on, mention);
  return subjects
    .map((mention, i) => ({ mention, rider: riders.get(i) }))
    .filter(({ mention }) => mention.on === undefined && mention.heldBy === undefined);
}

/** Divides the width among groups, by the number and the aspect ratio of their subjects. */
function spread(
  stage: Stage,
  groups: readonly Group[],
  options: Pick<Slot, "crowd" | "close">,
  spotsIn: (slot: Slot, mention: Mention) => Spot[],
): Placed[] {
  const weights = groups.map(({ mention }) =>
    Math.max(0.7, Math.sqrt(mention.count) * subjectOf(mention.name).aspect ** 0.5),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let from = 0;
  return groups.flatMap(({ mention, rider }, i) => {
    const width = ((weights[i] ?? 1) / total) * stage.width;
    const slot: Slot = { from, width, alone: groups.length === 1, ...options };
    from += width;
    return spotsIn(slot, mention).map((spot, index) => ({
      ...spot,
      mention,
      index,
      ...(rider !== undefined && { rider }),
    }));
  });
}

function scaleToFill(stage: Stage, placed: readonly Placed[], layers: readonly Layer[]): Layer[] {
  const half = (one: Placed): number => (one.tall * subjectOf(one.mention.name).aspect) / 2;
  const left = Math.min(...placed.map((one) => one.x - half(one)));
  const right = Math.max(...placed.map((one) => one.x + half(one)));
  // Antlers, flags and flames exceed the nominal height.
  const top = Math.min(...placed.map((one) => one.y - one.tall * 1.08));
  const bottom = Math.max(...placed.map((one) => one.y + one.tall * 0.05));
  const scale = Math.min(
    (stage.width * 0.92) / (right - left),
    (stage.height * 0.92) / (bottom - top),
  );
  const [dx, dy] = [
    stage.width / 2 - ((left + right) / 2) * scale,
    stage.height / 2 - ((top + bottom) / 2) * scale,
  ];
  const transform = `translate(${num(dx)} ${num(dy)}) scale(${preciseNum(scale)})`;
  return layers.map((layer) => ({ ...layer, svg: group({ transform }, layer.svg) }));
}

/**
 * The position next to the holder and slightly in front of it. An umbrella, a balloon or a kite is above the holder.
 */
function heldSpot(mention: Mention, holder: Placed): Placed {
  const { tall, x, y } = holder;
  const above =
    mention.name === "umbrella" || mention.name === "toyBalloon" || mention.name === "kite";
  const reach = tall * subjectOf(holder.mention.name).aspect * (above ? 0.3 : 0.46);
  return {
    mention,
    index: 0,
    held: true,
    x: x + (mention.name === "umbrella" ? reach * 0.5 : reach),
    y: y - tall * (above ? 0.42 : 0.18) + 0.01,
    tall: tall * (mention.name === "umbrella" ? 0.86 : above ? 0.7 : 0.36),
    depth: y + 0.01,
  };
}

function colorsFor(mention: Mention, random: Random): ColorPair {
  const natural = colorsByWord[mention.word] ?? random.pick(subjectOf(mention.name).colors);
  const [first, second] = mention.colors;
  if (first === undefined) return natural;
  // The natural accent stays, so that white or black subjects have a second color that differs.
  const accent = second?.hex ?? natural[1];
  return [first.hex, accent];
}

function drawSubject(stage: Stage, one: Placed, ground: Ground): string {
  const { mention, x, y, tall } = one;
  const subject = subjectOf(mention.name);
  const random = stage.random.fork(`${mention.name} ${one.index}`);
  const scale = tall / 100;
  const mirrored = subject.oneWay !== true && x < stage.width * 0.5;
  const nearness = isFar(mention) && ground !== "table" ? 0.1 : 0;
  const light = {
    lit: (color: string): string =>
      mix(lit(stage.palette, color, 0.48), stage.palette.haze, nearness),
    night: stage.palette.dim > 0.25,
  };
  const phase = (stage.phase + random.next()) % 1;
  const brush = brushFor(colorsFor(mention, random.fork("coat")), light, random, {
    word: mention.word,
    defs: stage.defs,
    detail: stage.detail,
    phase: stage.phase === 0 ? 0 : phase,
  });
  const rider =
    one.rider === undefined || subject.seat === undefined
      ? ""
      : drawRider(stage, one.rider, subject.seat, tall, light);
  const figure = group(
    {
      transform: `translate(${num(x)} ${num(y)}) scale(${preciseNum(mirrored ? -scale : scale)} ${preciseNum(scale)})`,
    },
    subject.riderInside === true ? "" : rider,
    subject.draw({ ...brush, rider: subject.riderInside === true ? rider : "" }),
  );
  return castShadow(stage, one, ground) + figure;
}

/** The shadow on land falls away from the sun; on water it is below the hull. */
function castShadow(stage: Stage, { mention, held, x, y, tall }: Placed, ground: Ground): string {
  const subject = subjectOf(mention.name);
  const dark = shadow(stage.palette.sky[0] ?? "#222222", 0.12);
  const width = tall * subject.aspect;
  if (subject.stands === "water" && ground === "water") {
    const opacity = { "fill-opacity": 0.22 };
    return ellipse(x, y + tall * 0.03, width / 2.3, Math.max(3, tall * 0.05), dark, opacity);
  }
  if (flies(mention, ground) || held === true) return "";
  const away = (x - stage.sun.x) / stage.width;
  const opacity = { "fill-opacity": 0.3 };
  return ellipse(x + away * tall * 0.16, y, width / 2.1, Math.max(4, tall * 0.045), dark, opacity);
}

/** The rider is drawn before its mount, so that the mount hides the rider's feet. */
function drawRider(
  stage: Stage,
  rider: Mention,
  seat: readonly [number, number],
  carrierTall: number,
  light: { lit: (color: string) => string; night: boolean },
): string {
  const subject = subjectOf(rider.name);
  const random = stage.random.fork(`rider ${rider.name}`);
  const slot = Math.min(0.72, (subject.tall / carrierTall) * 0.62 + 0.12, 0.8 / subject.aspect);
  const brush = brushFor(colorsFor(rider, random), light, random, {
    word: rider.word,
    defs: stage.defs,
    detail: stage.detail,
    phase: stage.phase,
  });
  return Array.from({ length: Math.min(3, rider.count) }, (_, i) =>
    group(
      {
        transform: `translate(${num(seat[0] + (i - (Math.min(3, rider.count) - 1) / 2) * 26)} ${num(seat[1] + slot * 26)}) scale(${preciseNum(slot)})`,
      },
      subject.draw(brush),
    ),
  ).join("");
}
