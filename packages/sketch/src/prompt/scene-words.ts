/**
 * The lexicon of places, times of day, weather, sky features and styles. `_` joins the words of a phrase. The first
 * entry of each list is the name that users see.
 */

import type { Weather } from "../scene/palette.ts";
import type { SkyFeature } from "../scene/sky.ts";
import type { TimeOfDay } from "../scene/times-of-day.ts";

export type PlaceName =
  | "mountains"
  | "volcano"
  | "sea"
  | "beach"
  | "lake"
  | "river"
  | "island"
  | "city"
  | "street"
  | "village"
  | "forest"
  | "jungle"
  | "desert"
  | "canyon"
  | "meadow"
  | "hills"
  | "field"
  | "garden"
  | "park"
  | "snow"
  | "space"
  | "moonscape"
  | "mars"
  | "underwater"
  | "above"
  | "room"
  | "grid";

export const placeWords: Record<PlaceName, string> = {
  mountains: "mountain mountains peak alps summit himalaya cliff highlands ridge alpine fjord",
  volcano: "volcano eruption",
  sea: "sea ocean waves wave water atlantic pacific marine harbour harbor bay sailing",
  beach: "beach shore coast seaside sand tropical seashore",
  lake: "lake pond lagoon reflection",
  river: "river stream creek brook valley",
  island: "island atoll",
  city: "city skyline skyscraper town downtown metropolis cityscape tokyo york paris london berlin skyscrapers urban",
  street: "street road alley highway avenue sidewalk",
  village: "village hamlet countryside_village rooftops",
  forest: "forest woods wood woodland grove",
  jungle: "jungle rainforest",
  desert: "desert dune dunes sahara oasis",
  canyon: "canyon mesa grand_canyon",
  meadow: "meadow grass grassland prairie lawn pasture savanna savannah",
  hills: "hill hills countryside landscape rolling_hills farm farmland ranch",
  field: "field fields vineyard plantation crops lavender_field wheat_field orchard",
  garden:
    "garden flower_field flower_garden wildflowers field_of_flowers flowerbed poppies field_of_poppies",
  park: "park playground",
  snow: "snowfield winter arctic tundra ice glacier antarctica north_pole iceberg snowy_landscape",
  space: "space outer_space cosmos universe nebula orbit deep_space interstellar",
  moonscape: "moonscape lunar on_the_moon moon_surface surface_of_the_moon lunar_surface crater",
  mars: "mars red_planet martian alien_planet alien_world",
  underwater:
    "underwater under_water under_the_sea undersea reef coral coral_reef ocean_floor seabed aquarium deep_sea",
  above: "above_the_clouds over_the_clouds in_the_clouds heaven in_the_sky",
  room: "room kitchen cafe café table window windowsill desk library indoors interior living_room bedroom studio shelf wooden_table office restaurant",
  grid: "grid cyberspace matrix virtual",
};

/** Words for grounds that imply a color. */
export const groundColorsByWord: Readonly<Record<string, string>> = {
  lavender_field: "#9a86d8",
  wheat_field: "#dcb64c",
  vineyard: "#6f9a4a",
  poppies: "#d9382f",
  field_of_poppies: "#d9382f",
};

export const timeWords: Record<TimeOfDay, string> = {
  dawn: "dawn sunrise daybreak early_morning morning",
  day: "day daytime noon midday sunny daylight bright_day afternoon summer",
  golden: "golden_hour late_afternoon autumn fall october warm_light golden_light",
  sunset: "sunset sundown setting_sun",
  dusk: "dusk twilight evening blue_hour nightfall gloaming",
  night:
    "night midnight nighttime moonlit moonlight starry starlit nocturnal dark_night starry_night",
};

export const weatherWords: Record<Weather, string> = {
  cloudy: "cloudy overcast grey_sky gray_sky",
  rain: "rain rainy raining drizzle downpour shower monsoon",
  snow: "snow snowy snowing snowfall snowflakes blizzard snowstorm frost",
  fog: "fog foggy mist misty haze hazy smoke",
  storm: "storm stormy thunderstorm thunder lightning tempest hurricane",
  wind: "wind windy breeze breezy gale",
};

export const skyWords: Record<SkyFeature, string> = {
  stars: "stars constellation constellations starlight",
  moon: "moon full_moon moons",
  crescent: "crescent crescent_moon half_moon new_moon",
  sun: "sun sunshine sunlight sunbeam sunbeams",
  rainbow: "rainbow",
  aurora: "aurora northern_lights aurora_borealis polar_lights",
  clouds: "cloud clouds",
  comet: "comet shooting_star meteor falling_star",
  fireworks: "firework fireworks",
  galaxy: "galaxy milky_way galaxies",
  birds: "distant_birds",
  eclipse: "eclipse",
};

export const styles = [
  "watercolor",
  "pencil",
  "ink",
  "pixel",
  "flat",
  "oil",
  "neon",
  "papercut",
  "mosaic",
  "comic",
  "woodblock",
  "mono",
  "sepia",
  "pastel",
  "pointillist",
] as const;
export type Style = (typeof styles)[number];

export const styleWords: Record<Style, string> = {
  watercolor: "watercolor watercolour aquarelle gouache water_colour water_color",
  pencil:
    "pencil sketch sketched line_drawing pencil_drawing charcoal graphite hand-drawn hand_drawn doodle coloring_page line_art lineart",
  ink: "ink pen_and_ink ink_drawing etching engraving woodcut crosshatching linocut",
  pixel: "pixel_art pixel pixelated pixelart 8-bit 8bit 16-bit 16bit retro_game voxel minecraft",
  flat: "flat flat_design minimal minimalist minimalistic vector simple poster",
  oil: "oil oil_painting impressionist impressionism van_gogh monet painterly acrylic oil_paint expressionist",
  neon: "neon synthwave cyberpunk vaporwave retrowave outrun tron glowing_neon",
  papercut:
    "paper_cut papercut paper_cutout paper_art cut_paper cutout layered_paper origami papercraft kirigami",
  mosaic: "mosaic stained_glass stained-glass tiles",
  comic: "comic cartoon pop_art comic_book manga anime halftone",
  woodblock:
    "woodblock ukiyo-e ukiyo_e hokusai japanese_print woodblock_print screen_print risograph",
  mono: "black_and_white black-and-white monochrome greyscale grayscale noir",
  sepia: "sepia vintage old_photo antique daguerreotype",
  pastel: "pastel pastels soft_colours soft_colors crayon chalk",
  pointillist: "pointillism pointillist seurat dots",
};
