/** What a prompt asks for, in terms the drawing program knows. */
import type { Color } from "../color.ts";
import type { Weather } from "../scene/palette.ts";
import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";
import type { SubjectName } from "../subjects/catalog.ts";
import type { PlaceName, Style } from "./scene-words.ts";

export interface NamedColor {
  readonly name: string;
  readonly hex: Color;
}

export interface Mention {
  readonly name: SubjectName;
  /** The word the prompt used, one of our own lexicon. */
  readonly word: string;
  readonly count: number;
  readonly colors: readonly NamedColor[];
  /** 1 is usual. */
  readonly size: number;
  /** Index of the subject this one rides on or sits in. */
  readonly on?: number;
  /** Index of the subject that holds this one. */
  readonly heldBy?: number;
}

export interface PlaceMention {
  readonly name: PlaceName;
  readonly word: string;
  readonly colors: readonly NamedColor[];
}

export interface Brief {
  readonly subjects: readonly Mention[];
  readonly places: readonly PlaceMention[];
  readonly time?: TimeOfDay;
  readonly weather: readonly Weather[];
  readonly sky: ReadonlySet<SkyFeature>;
  readonly skyColor?: NamedColor;
  readonly styles: readonly Style[];
  /** Colors of no thing in particular: the picture as a whole leans to them. */
  readonly overallColors: readonly NamedColor[];
  readonly shape?: "wide" | "tall" | "square";
  /** Near and large, as in "portrait of". */
  readonly close: boolean;
  /** "add", "put": an edit that leaves what was there. */
  readonly add: boolean;
  /** "remove", "erase": an edit that takes away. */
  readonly remove: boolean;
}

/** Nothing in it can be drawn as a scene. */
export const isAbstract = (brief: Brief): boolean =>
  brief.subjects.length === 0 &&
  brief.places.length === 0 &&
  brief.time === undefined &&
  brief.weather.length === 0 &&
  brief.sky.size === 0 &&
  brief.skyColor === undefined &&
  // Neon alone is a place of its own.
  !brief.styles.includes("neon");
