/** An edit from uploads to pixels: masked parts are drawn anew, whole pictures are restyled. Yields its stages. */
import { schemeFor } from "../abstract/schemes.ts";
import { draw, over, type Picture } from "../draw.ts";
import { finish } from "../finish.ts";
import type { Wish } from "../options.ts";
import { seeded } from "../random.ts";
import { type Darkroom, open, type Raster, rasterise } from "../raster.ts";
import { lightOf, ornaments, type SceneWish, svgOf } from "../scene.ts";
import { styleFilters } from "../styles/style.ts";
import { type Brief, isAbstract } from "../words/brief.ts";
import { clone } from "./clone.ts";
import { collage } from "./collage.ts";
import { cutout } from "./cutout.ts";
import { graded, gradeFor } from "./grade.ts";
import { decode } from "./inputs.ts";
import { type Mask, readMask, throughMask } from "./mask.ts";
import type { Materials } from "./materials.ts";
import { exactly, faded } from "./stages.ts";

export interface EditJob {
  readonly brief: Brief;
  readonly seed: string;
  readonly index: number;
  readonly wish: Wish;
  readonly materials: Materials;
}

/** Yields `partials` earlier stages, returns the finished pixels. */
export async function* develop(
  room: Darkroom,
  job: EditJob,
  phase = 0,
  partials = 0,
): AsyncGenerator<Raster, Raster> {
  const { images, mask: upload, size } = job.materials;
  if (upload === undefined) {
    const making = restyle(room, job, await startingPicture(room, job), phase);
    return yield* exactly(partials, making, (stage, strength) => faded(room, stage, strength));
  }
  const original = await decode(room.sharp, images[0], size);
  const mask = await readMask(room, upload, size);
  return yield* exactly(
    partials,
    repaint(room, job, original, mask),
    // What the mask protects is protected in every stage.
    async (stage, strength) =>
      throughMask(room, original, await faded(room, stage, strength), mask),
  );
}

async function startingPicture(
  room: Darkroom,
  { materials, seed, brief }: EditJob,
): Promise<Raster> {
  const { images, markup, size } = materials;
  const random = seeded(`${seed}|collage`);
  const several = images.length > 1;
  const start = several
    ? await collage(
        room,
        images,
        size,
        schemeFor(
          random,
          brief.lean.map((colour) => colour.hex),
        ).ground,
        random,
      )
    : await decode(room.sharp, images[0], size);
  return markup === undefined
    ? start
    : over(room, start, await decode(room.sharp, markup, size, "fill"));
}

/** Only the masked area: the scene the words name, or the named subjects on the healed ground. */
async function* repaint(
  room: Darkroom,
  job: EditJob,
  original: Raster,
  mask: Mask,
): AsyncGenerator<Raster, Raster> {
  const { brief, wish, materials } = job;
  const clear = wish.background === "transparent";
  // "Add a dog" leaves what was there; anything else replaces it.
  const healed = clear ? blank(original) : brief.add ? original : await clone(room, original, mask);
  yield throughMask(room, original, healed, mask);
  if (brief.remove) return throughMask(room, original, healed, mask);
  const { width, height } = mask.box;
  const scenic = brief.places.length > 0 || brief.time !== undefined || brief.subjects.length === 0;
  const [, ...donors] = materials.images;
  const picture: Picture = {
    brief,
    width: Math.max(16, width),
    height: Math.max(16, height),
    seed: job.seed,
    bare: clear || !scenic || donors.length > 0,
    wish,
  };
  let ground = healed;
  if (donors.length > 0) {
    const box = { width, height };
    const donor =
      donors.length === 1 && donors[0] !== undefined
        ? await decode(room.sharp, donors[0], box)
        : await collage(room, donors, box, "#ece6da", seeded(job.seed));
    ground = await placed(room, healed, donor, mask);
    yield throughMask(room, original, ground, mask);
  }
  const drawsNothing = donors.length > 0 && brief.subjects.length === 0;
  if (drawsNothing) return throughMask(room, original, ground, mask);
  const drawn = await draw(room, picture);
  return throughMask(room, original, await placed(room, ground, drawn, mask), mask);
}

const blank = (raster: Raster): Raster => ({
  ...raster,
  pixels: new Uint8Array(raster.pixels.length),
});

/** A picture of the box, laid where the box is. */
async function placed(
  room: Darkroom,
  ground: Raster,
  piece: Raster,
  { box }: Mask,
): Promise<Raster> {
  const fitted = await open(room.sharp, piece)
    .resize(box.width, box.height, { fit: "fill" })
    .raw()
    .toBuffer();
  const sheet = blank(ground);
  for (let y = 0; y < box.height; y++) {
    sheet.pixels.set(
      fitted.subarray(y * box.width * 4, (y + 1) * box.width * 4),
      ((box.top + y) * ground.width + box.left) * 4,
    );
  }
  return over(room, ground, sheet);
}

/** The whole picture: light and colours, then what is laid over it, then the style. */
async function* restyle(
  room: Darkroom,
  job: EditJob,
  start: Raster,
  phase: number,
): AsyncGenerator<Raster, Raster> {
  const { brief, wish, seed, index } = job;
  const scene: SceneWish = {
    // Weather alone does not change the hour of a picture.
    brief: { ...brief, time: brief.time ?? "day" },
    width: start.width,
    height: start.height,
    detail: wish.detail,
    random: seeded(seed),
    phase,
    bare: true,
  };
  let raster = start;
  if (wish.background === "transparent") raster = await cutout(room, raster);
  else if (hasHoles(raster)) raster = await behind(room, job, raster);
  yield raster;
  const grade = gradeFor(
    brief,
    lightOf(scene),
    wish.fidelity === "high",
    seeded(`${seed}|scheme`),
    index,
  );
  if (grade !== undefined) raster = await graded(room, raster, grade);
  const sights = ornaments(scene);
  if (sights.layers.length > 0 && !isAbstract(brief)) {
    yield raster;
    raster = await over(
      room,
      raster,
      await rasterise(
        room.sharp,
        svgOf(sights, start.width, start.height),
        start.width,
        start.height,
      ),
    );
  }
  if (brief.styles.length > 0) yield raster;
  const shape = raster;
  for (const style of brief.styles) raster = await styleFilters[style](room, raster);
  if (wish.background === "transparent") raster = withShapeOf(raster, shape);
  return finish(room, raster, {
    saturation: wish.saturation,
    grain: 0,
    rim: 0,
    glow: wish.detail > 1.3 ? 0.15 : 0,
  });
}

const withShapeOf = (raster: Raster, shape: Raster): Raster => {
  const pixels = new Uint8Array(raster.pixels);
  for (let i = 3; i < pixels.length; i += 4) pixels[i] = shape.pixels[i] ?? 255;
  return { ...raster, pixels };
};

function hasHoles({ pixels }: Raster): boolean {
  let holes = 0;
  for (let i = 3; i < pixels.length; i += 4) if ((pixels[i] ?? 255) < 128) holes += 1;
  return holes > pixels.length / 4 / 50;
}

/** A picture with holes is set before the scene the words name, or on plain paper when it must be opaque. */
async function behind(room: Darkroom, job: EditJob, raster: Raster): Promise<Raster> {
  const { brief, wish } = job;
  const scenic =
    brief.places.length > 0 ||
    brief.time !== undefined ||
    brief.sky.size > 0 ||
    brief.skyColour !== undefined;
  if (scenic) {
    const empty: Brief = { ...brief, subjects: [], styles: [], weather: [] };
    return over(
      room,
      await draw(room, {
        brief: empty,
        width: raster.width,
        height: raster.height,
        seed: job.seed,
        bare: false,
        wish,
      }),
      raster,
    );
  }
  if (wish.background === "auto" && wish.format !== "jpeg") return raster;
  return {
    ...raster,
    pixels: await open(room.sharp, raster)
      .flatten({ background: brief.lean[0]?.hex ?? "#ffffff" })
      .ensureAlpha()
      .raw()
      .toBuffer(),
  };
}
