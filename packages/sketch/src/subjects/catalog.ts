/** Every subject by name. */
import { aircraft } from "./aircraft.ts";
import { birds } from "./birds.ts";
import { buildings } from "./buildings.ts";
import { characters } from "./characters.ts";
import { farmAnimals } from "./farm-animals.ts";
import { fruit } from "./fruit.ts";
import { landmarks } from "./landmarks.ts";
import { lights } from "./lights.ts";
import { mythicalCreatures } from "./mythical.ts";
import { objects } from "./objects.ts";
import { people } from "./people.ts";
import { pets } from "./pets.ts";
import { plants } from "./plants.ts";
import { seaLife } from "./sea-life.ts";
import { smallAnimals } from "./small-animals.ts";
import type { Subject } from "./subject.ts";
import { symbols } from "./symbols.ts";
import { tableware } from "./tableware.ts";
import { trees } from "./trees.ts";
import { vehicles } from "./vehicles.ts";
import { wildAnimals } from "./wild-animals.ts";

const all = {
  ...pets,
  ...wildAnimals,
  ...farmAnimals,
  ...birds,
  ...seaLife,
  ...smallAnimals,
  ...mythicalCreatures,
  ...people,
  ...characters,
  ...trees,
  ...plants,
  ...buildings,
  ...landmarks,
  ...vehicles,
  ...aircraft,
  ...tableware,
  ...fruit,
  ...lights,
  ...symbols,
  ...objects,
} as const;

export type SubjectName = keyof typeof all;
export const subjectNames = Object.keys(all) as SubjectName[];
export const subjectOf = (name: SubjectName): Subject => all[name];
