/** Adjectives and counts, as lists of `word value` pairs. */

const pairs = (text: string): [string, string][] => {
  const words = text.trim().split(/\s+/);
  return Array.from({ length: words.length / 2 }, (_, i) => [
    words[i * 2] ?? "",
    words[i * 2 + 1] ?? "",
  ]);
};
const numbers = (text: string): ReadonlyMap<string, number> =>
  new Map(pairs(text).map(([word, value]) => [word, Number(value)]));

export const colorWords: ReadonlyMap<string, string> = new Map(
  pairs(`
  red #d93a3a scarlet #d92b2b crimson #b3223c ruby #b81f4a maroon #7d2333 cherry #c4243f
  orange #f0852d amber #f2a52e apricot #f7b184 peach #f9bfa0 coral #f2786b rust #b5542f copper
  #b8703f bronze #a3733c yellow #f4cf3a gold #e6b234 golden #e6b234 mustard #d1a32e lemon
  #f6e05a cream #f7ecd2 beige #e0cfae ivory #f6f0de sand #dfc697 blonde #ecd08a honey #e0a23a
  green #4fa35a emerald #23a06e lime #a3d13c olive #8a8f3c mint #93dcb8 sage #9db896 jade
  #3fa382 teal #24918f turquoise #36bfc0 cyan #37c5e0 aqua #45c8cf blue #3579c9 navy #22386f
  azure #3f9fe8 cobalt #2a53b5 indigo #463aa5 sapphire #2450b0 cerulean #2f92c8 denim #456e9c
  purple #8748b8 violet #7a4fd0 lavender #a896dd lilac #c3a6dd magenta #d0369c plum #7d3a78
  mauve #b593b5 fuchsia #de3f9d pink #f08cab rosy #ea93a4 salmon #f4907c blush #f3bcbc brown
  #8a5a3a chocolate #66402b tan #c9a274 chestnut #89492f caramel #c07f3f black #2b2830 white
  #f6f4ef grey #8f929b gray #8f929b silver #c0c6cd charcoal_grey #474a54 ginger #dd7b2f
  snow_white #fbfbfd
`),
);

/** Changes of the lightness of the next color. */
export const shadeWords = numbers(`
  dark -0.16 deep -0.13 midnight -0.2 light 0.12 pale 0.17 bright 0.04 pastel 0.13 faded 0.08
  hot 0
`);

export const countWords = numbers(`
  a 1 an 1 one 1 single 1 lone 1 lonely 1 solitary 1 two 2 pair 2 couple 2 twin 2 both 2 three
  3 trio 3 few 3 four 4 several 4 some 3 five 5 six 6 family 4 seven 7 eight 8 many 8 bunch 6
  group 5 herd 6 flock 9 school 9 fleet 5 row 5 swarm 12 nine 9 ten 10 eleven 11 dozen 12
  twelve 12 crowd 12 lots 10 hundreds 24 countless 20
`);

export const sizeWords = numbers(`
  tiny 0.45 small 0.66 little 0.7 mini 0.5 miniature 0.5 big 1.25 large 1.28 huge 1.5 giant
  1.6 gigantic 1.65 enormous 1.6 tall 1.25 massive 1.5 colossal 1.65
`);

export const irregular: ReadonlyMap<string, string> = new Map(
  pairs(`
  wolves wolf mice mouse geese goose men man women woman children child people people oxen ox
  leaves leaf knives knife calves calf octopi octopus cacti cactus fungi fungus butterflies
  butterfly cities city daisies daisy ponies pony puppies puppy bunnies bunny kitties kitty
  lilies lily cherries cherry berries berry fireflies firefly peaches peach benches bench
  churches church foxes fox buses bus beaches beach sheep sheep fish fish deer deer
`),
);

export const negations: ReadonlySet<string> = new Set(["no", "without", "not", "never", "ohne"]);
