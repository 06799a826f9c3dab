/** The places where a subject is drawn if the prompt names none. */

import type { PlaceName } from "../prompt/scene-words.ts";
import type { SubjectName } from "../subjects/catalog.ts";
import { subjectOf } from "../subjects/catalog.ts";
import type { Stands } from "../subjects/subject.ts";

type Places = readonly [PlaceName, ...PlaceName[]];

const byStance: Record<Stands, Places> = {
  ground: ["meadow", "hills", "mountains"],
  air: ["hills", "mountains", "above", "meadow"],
  water: ["sea", "lake"],
  undersea: ["underwater"],
  table: ["room"],
};

const own: Partial<Record<SubjectName, Places>> = {
  cat: ["meadow", "room", "garden", "village"],
  dog: ["meadow", "park", "beach", "hills"],
  fox: ["forest", "meadow", "snow"],
  rabbit: ["meadow", "garden"],
  bear: ["forest", "mountains"],
  deer: ["forest", "mountains"],
  owl: ["forest"],
  panda: ["jungle", "mountains"],
  elephant: ["meadow", "hills"],
  lion: ["meadow", "canyon"],
  giraffe: ["meadow"],
  unicorn: ["garden", "meadow"],
  penguin: ["snow"],
  snowman: ["snow"],
  flamingo: ["lake"],
  frog: ["lake"],
  duck: ["lake", "river"],
  otter: ["lake", "sea"],
  crab: ["beach"],
  turtle: ["beach"],
  butterfly: ["garden", "meadow"],
  bee: ["garden"],
  hedgehog: ["forest", "meadow"],
  snail: ["garden"],
  dragon: ["mountains", "volcano"],
  dinosaur: ["volcano", "jungle"],
  ghost: ["forest", "village"],
  astronaut: ["moonscape", "mars"],
  robot: ["city", "street", "meadow"],
  wizard: ["forest", "mountains"],
  knight: ["hills", "mountains"],
  dancer: ["street", "park"],
  palm: ["beach"],
  cactus: ["desert", "canyon"],
  mushroom: ["forest"],
  pumpkin: ["field", "hills"],
  sunflower: ["hills", "field"],
  pagoda: ["mountains", "lake"],
  lighthouse: ["sea"],
  castle: ["hills", "mountains", "lake"],
  windmill: ["field", "hills"],
  tent: ["mountains", "forest"],
  campfire: ["forest", "mountains"],
  bridge: ["river", "lake"],
  car: ["street", "hills", "desert"],
  bus: ["street"],
  train: ["hills", "mountains"],
  bicycle: ["park", "street"],
  rocket: ["space", "moonscape", "hills"],
  saucer: ["hills", "field", "city"],
  satellite: ["space"],
  planet: ["space"],
  bulb: ["room"],
  umbrella: ["street", "beach"],
  guitar: ["room", "beach"],
  violin: ["room"],
  bench: ["park"],
  heart: ["above"],
  star: ["above"],
};

export const defaultPlacesFor = (name: SubjectName): Places =>
  own[name] ?? byStance[subjectOf(name).stands];
