/** Translates the words of German prompts to words of the lexicon. */

const pairs = (text: string): [string, string][] =>
  text
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [german = "", english = ""] = entry.split("=");
      return [german, english.replaceAll("_", " ")];
    });

/**
 * Words that mark a prompt as German. Without one of them nothing is translated, because words such as "see" and
 * "gift" are English, too.
 */
const germanMarkers = new Set(
  "der das dem ein eine einer einem einen eines im und mit auf bei über vor zwei drei vier fünf am zum zur".split(
    " ",
  ),
);

const words: ReadonlyMap<string, string> = new Map(
  pairs(`
  ein=a eine=a einem=a einen=a einer=a eines=a der=the die=the das=the dem=the den=the des=the
  und=and mit=with ohne=without auf=on im=in am=at bei=at über=over unter=under vor=before
  hinter=behind neben=beside zwei=two drei=three vier=four fünf=five sechs=six viele=many
  katze=cat kater=cat kätzchen=kitten hund=dog welpe=puppy fuchs=fox wolf=wolf hase=rabbit
  kaninchen=rabbit bär=bear eisbär=polar_bear löwe=lion elefant=elephant hirsch=deer reh=deer
  pferd=horse einhorn=unicorn schaf=sheep kuh=cow vogel=bird vögel=birds adler=eagle eule=owl
  ente=duck schwan=swan pinguin=penguin hahn=rooster huhn=chicken fisch=fish wal=whale
  delfin=dolphin hai=shark krake=octopus qualle=jellyfish schildkröte=turtle krabbe=crab
  schmetterling=butterfly biene=bee frosch=frog schnecke=snail igel=hedgehog maus=mouse
  drache=dragon drachen=dragon dinosaurier=dinosaur geist=ghost gespenst=ghost mann=man frau=woman
  mädchen=girl junge=boy kind=child kinder=children tänzerin=dancer astronaut=astronaut
  roboter=robot schneemann=snowman zauberer=wizard hexe=witch ritter=knight baum=tree bäume=trees
  tanne=fir kiefer=pine palme=palm kaktus=cactus blume=flower blumen=flowers rose=rose
  sonnenblume=sunflower tulpe=tulip pilz=mushroom kürbis=pumpkin haus=house hütte=cabin
  schloss=castle burg=castle leuchtturm=lighthouse windmühle=windmill kirche=church tempel=temple
  zelt=tent brücke=bridge eiffelturm=eiffel_tower boot=boat segelboot=sailboat schiff=ship auto=car
  bus=bus zug=train fahrrad=bicycle heißluftballon=hot_air_balloon ballon=balloon rakete=rocket
  flugzeug=plane tasse=cup kaffee=coffee tee=tea teekanne=teapot buch=book kerze=candle laterne=lantern
  vase=vase kuchen=cake torte=cake apfel=apple äpfel=apples birne=pear orangen=oranges zitrone=lemon
  zitronen=lemons obstschale=fruit_bowl uhr=clock regenschirm=umbrella gitarre=guitar geige=violin
  herz=heart stern=star geschenk=gift lagerfeuer=campfire bank=bench kamera=camera planet=planet eis=ice_cream
  berg=mountain berge=mountains gebirge=mountains vulkan=volcano meer=sea ozean=ocean strand=beach
  küste=coast see=lake teich=pond fluss=river bach=stream insel=island stadt=city straße=street
  dorf=village wald=forest dschungel=jungle wüste=desert wiese=meadow hügel=hills feld=field
  garten=garden park=park weltraum=space weltall=space mond=moon mars=mars unterwasser=underwater
  zimmer=room küche=kitchen tisch=table fenster=window winter=winter morgen=morning
  morgengrauen=dawn sonnenaufgang=sunrise tag=day mittag=noon abend=evening dämmerung=dusk
  sonnenuntergang=sunset nacht=night nachts=night herbst=autumn sommer=summer regen=rain schnee=snow
  verschneit=snowy nebel=fog sturm=storm gewitter=thunderstorm wind=wind wolken=clouds sterne=stars
  sternenhimmel=starry_night sonne=sun regenbogen=rainbow polarlicht=aurora feuerwerk=fireworks
  himmel=sky aquarell=watercolor bleistiftzeichnung=pencil ölgemälde=oil_painting mosaik=mosaic
  rot=red orange=orange gelb=yellow grün=green blau=blue lila=purple violett=violet rosa=pink
  braun=brown schwarz=black weiß=white grau=grey golden=golden silbern=silver türkis=turquoise
  dunkel=dark hell=light klein=small winzig=tiny groß=big riesig=huge
`),
);

/** Removes inflections ("roter", "rote", "roten"; "Katzen", "Hunde", "Boote"), shortest ending first. */
function known(word: string): { readonly english: string; readonly plural: boolean } | undefined {
  const exact = words.get(word);
  if (exact !== undefined) return { english: exact, plural: false };
  for (const ending of ["e", "n", "s", "er", "en", "es", "em"]) {
    const found = word.endsWith(ending) ? words.get(word.slice(0, -ending.length)) : undefined;
    if (found !== undefined) return { english: found, plural: ["n", "e", "en"].includes(ending) };
  }
  return undefined;
}

/** Translates the words that it knows. English prompts are returned unchanged. */
export function germanToEnglish(tokens: readonly string[]): readonly string[] {
  if (!tokens.some((word) => germanMarkers.has(word))) return tokens;
  return tokens.flatMap((word) => {
    const found = known(word);
    if (found === undefined) return [word];
    const { english, plural } = found;
    return (plural ? pluralOf(english) : english).split(" ");
  });
}

/** Only nouns have a plural: an inflected color or size word is no plural. */
const pluralOf = (word: string): string =>
  countable.test(word) ? word.replace(/([^s])$/, "$1s") : word;
const countable =
  /^(cat|kitten|dog|fox|wolf|rabbit|bear|lion|elephant|deer|horse|unicorn|cow|bird|eagle|owl|duck|swan|penguin|dolphin|whale|turtle|butterfly|bee|frog|snail|dragon|robot|witch|palm|rose|tulip|sunflower|mushroom|tent|boat|sailboat|ship|balloon|rocket|candle|lantern|star|astronaut|woman|apple|pear|lemon|book)$/;
