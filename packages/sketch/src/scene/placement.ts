/** Subjects into the scene: groups share the width, riders sit, things are held, each is drawn in its light. */
import { mix } from "../color.ts";
import type { Brief, Mention } from "../prompt/brief.ts";
import { colorsByWord } from "../prompt/subject-words.ts";
import type { Random } from "../random.ts";
import { subjectOf } from "../subjects/catalog.ts";
import { brushFor, type ColorPair, shadow } from "../subjects/subject.ts";
import { ellipse, group, num, preciseNum } from "../svg.ts";
import { lit } from "./palette.ts";
import type { Ground } from "./scenery.ts";
import { flies, flying, isFar, type Share, type Spot, standing } from "./spots.ts";
import type { Layer, Stage } from "./stage.ts";

interface Placed extends Spot {
  readonly mention: Mention;
  readonly index: number;
  readonly rider?: Mention;
  readonly held?: true;
  /** Drawn as if its feet were here, when they are not at `y`. */
  readonly depth?: number;
}

/** With `filling` they are moved and scaled together until they fill the frame: nothing else will. */
export function placeSubjects(
  stage: Stage,
  brief: Brief,
  ground: Ground,
  filling = false,
): Layer[] {
  const carried = new Map<number, Mention>();
  for (const mention of brief.subjects)
    if (mention.on !== undefined) carried.set(mention.on, mention);
  const mentions = brief.subjects
    .map((mention, i) => ({ mention, rider: carried.get(i) }))
    .filter(({ mention }) => mention.on === undefined && mention.heldBy === undefined);
  const flyers = mentions.filter(({ mention }) => flies(mention, ground));
  const walkers = mentions.filter(({ mention }) => !flies(mention, ground));
  const random = stage.random.fork("placement");
  const placed: Placed[] = [];
  const spread = (
    list: typeof mentions,
    spots: (share: Share, mention: Mention) => Spot[],
  ): void => {
    const weights = list.map(({ mention }) =>
      Math.max(0.7, Math.sqrt(mention.count) * subjectOf(mention.name).aspect ** 0.5),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let from = 0;
    list.forEach(({ mention, rider }, i) => {
      const width = ((weights[i] ?? 1) / total) * stage.width;
      const share: Share = {
        from,
        width,
        alone: list.length === 1,
        crowd: mentions.length,
        close: brief.close,
      };
      spots(share, mention).forEach((spot, index) => {
        placed.push({ ...spot, mention, index, ...(rider !== undefined && { rider }) });
      });
      from += width;
    });
  };
  spread(walkers, (share, mention) =>
    standing(stage, random.fork(mention.name), share, mention, ground),
  );
  spread(flyers, (share, mention) =>
    flying(stage, random.fork(mention.name), share, mention, walkers.length > 0, ground),
  );
  for (const mention of brief.subjects) {
    const holder = placed.find((one) => one.mention === brief.subjects[mention.heldBy ?? -1]);
    if (holder !== undefined) placed.push(heldSpot(mention, holder));
  }
  placed.sort((a, b) => (a.depth ?? a.y) - (b.depth ?? b.y));
  const layers = placed.map(
    (one): Layer => ({
      name: `${one.mention.name} ${one.index}`,
      svg: drawOne(stage, one, ground),
    }),
  );
  return filling ? filled(stage, placed, layers) : layers;
}

function filled(stage: Stage, placed: readonly Placed[], layers: readonly Layer[]): Layer[] {
  const half = (one: Placed): number => (one.tall * subjectOf(one.mention.name).aspect) / 2;
  const left = Math.min(...placed.map((one) => one.x - half(one)));
  const right = Math.max(...placed.map((one) => one.x + half(one)));
  // Antlers, flags and flames reach a little over the top.
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

/** Beside the holder's head, a hair in front of it; an umbrella covers it. */
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
  // White or black things keep a second color that can be told from the first.
  const accent = second?.hex ?? natural[1];
  return [first.hex, accent];
}

function drawOne(stage: Stage, one: Placed, ground: Ground): string {
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
  const stands = !flies(mention, ground) && one.held !== true;
  const onWater = subject.stands === "water" && ground === "water";
  const away = (x - stage.sun.x) / stage.width;
  const dark = shadow(stage.palette.sky[0] ?? "#222222", 0.12);
  const cast =
    stands && !onWater
      ? ellipse(
          x + away * tall * 0.16,
          y,
          (tall * subject.aspect) / 2.1,
          Math.max(4, tall * 0.045),
          dark,
          { "fill-opacity": 0.3 },
        )
      : onWater
        ? ellipse(
            x,
            y + tall * 0.03,
            (tall * subject.aspect) / 2.3,
            Math.max(3, tall * 0.05),
            dark,
            {
              "fill-opacity": 0.22,
            },
          )
        : "";
  const figure = group(
    {
      transform: `translate(${num(x)} ${num(y)}) scale(${preciseNum(mirrored ? -scale : scale)} ${preciseNum(scale)})`,
    },
    subject.riderInside === true ? "" : rider,
    subject.draw({ ...brush, rider: subject.riderInside === true ? rider : "" }),
  );
  return cast + figure;
}

/** The rider is drawn first, so that what it rides hides its feet. */
function drawRider(
  stage: Stage,
  rider: Mention,
  seat: readonly [number, number],
  carrierTall: number,
  light: { lit: (color: string) => string; night: boolean },
): string {
  const subject = subjectOf(rider.name);
  const random = stage.random.fork(`rider ${rider.name}`);
  const share = Math.min(0.72, (subject.tall / carrierTall) * 0.62 + 0.12, 0.8 / subject.aspect);
  const brush = brushFor(colorsFor(rider, random), light, random, {
    word: rider.word,
    defs: stage.defs,
    detail: stage.detail,
    phase: stage.phase,
  });
  return Array.from({ length: Math.min(3, rider.count) }, (_, i) =>
    group(
      {
        transform: `translate(${num(seat[0] + (i - (Math.min(3, rider.count) - 1) / 2) * 26)} ${num(seat[1] + share * 26)}) scale(${preciseNum(share)})`,
      },
      subject.draw(brush),
    ),
  ).join("");
}
