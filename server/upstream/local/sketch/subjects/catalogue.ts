/** Every subject by name. */
import { aircraft } from "./aircraft.ts";
import { birds } from "./birds.ts";
import { buildings } from "./buildings.ts";
import { critters } from "./critters.ts";
import { farm } from "./farm.ts";
import { fruit } from "./fruit.ts";
import { landmarks } from "./landmarks.ts";
import { lights } from "./lights.ts";
import { myths } from "./myths.ts";
import { people } from "./people.ts";
import { pets } from "./pets.ts";
import { plants } from "./plants.ts";
import { seaLife } from "./sea-life.ts";
import type { Subject } from "./subject.ts";
import { symbols } from "./symbols.ts";
import { table } from "./table.ts";
import { things } from "./things.ts";
import { trees } from "./trees.ts";
import { vehicles } from "./vehicles.ts";
import { wild } from "./wild.ts";

const all = {
  ...pets,
  ...wild,
  ...farm,
  ...birds,
  ...seaLife,
  ...critters,
  ...myths,
  ...people,
  ...trees,
  ...plants,
  ...buildings,
  ...landmarks,
  ...vehicles,
  ...aircraft,
  ...table,
  ...fruit,
  ...lights,
  ...symbols,
  ...things,
} as const;

export type SubjectName = keyof typeof all;
export const subjectNames = Object.keys(all) as SubjectName[];
export const subjectOf = (name: SubjectName): Subject => all[name];
