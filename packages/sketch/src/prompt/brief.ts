/** The brief: the parsed prompt (subjects, places, colors, styles) in terms of the lexicon. */
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
  /** The word of the lexicon that the prompt used. */
  readonly word: string;
  readonly count: number;
  readonly colors: readonly NamedColor[];
  /** A factor; 1 is the usual size. */
  readonly size: number;
  /** The index of the subject that this one rides on or sits in. */
  readonly on?: number;
  /** The index of the subject that holds this one. */
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
  /** Colors that belong to no subject or place. They tint the whole image. */
  readonly overallColors: readonly NamedColor[];
  readonly shape?: "wide" | "tall" | "square";
  /** A close view, as in "portrait of". */
  readonly close: boolean;
  /** "add", "put": the edit keeps the masked content. */
  readonly add: boolean;
  /** "remove", "erase": the edit removes the masked content. */
  readonly remove: boolean;
}

/** True if the brief has nothing that can be drawn as a scene. */
export const isAbstract = (brief: Brief): boolean =>
  brief.subjects.length === 0 &&
  brief.places.length === 0 &&
  brief.time === undefined &&
  brief.weather.length === 0 &&
  brief.sky.size === 0 &&
  brief.skyColor === undefined &&
  // Neon without a place is drawn as a neon grid.
  !brief.styles.includes("neon");
