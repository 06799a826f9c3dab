/**
 * English sentences that this file makes: combinations of a person, an action and a place, without an author and so in
 * the public domain. The questions ask for one part of a sentence in other words.
 */

const people = [
  ["an old fisherman", "a man who catches fish"],
  ["a young teacher", "a woman who works at a school"],
  ["the village doctor", "a person who treats the sick"],
  ["a tired soldier", "someone from the army"],
  ["a famous painter", "an artist"],
  ["the new mayor", "a politician"],
  ["a small boy", "a child"],
  ["the baker's daughter", "a girl from the bakery"],
  ["a retired judge", "a lawyer who no longer works"],
  ["a traveling musician", "someone who plays an instrument"],
  ["the farmer's wife", "a woman from the country"],
  ["a clumsy waiter", "an employee of a restaurant"],
  ["a night watchman", "a guard"],
  ["the school nurse", "a person who cares for pupils"],
  ["a lonely widow", "a woman whose husband has died"],
  ["a clever engineer", "someone who builds machines"],
] as const;

const actions = [
  ["repaired a broken boat", "fixed a vessel"],
  ["wrote a long letter", "sent a message on paper"],
  ["planted apple trees", "started an orchard"],
  ["lost a silver ring", "could not find a piece of jewelry"],
  ["cooked a pot of soup", "prepared a meal"],
  ["painted the wooden fence", "gave a barrier another color"],
  ["bought two black horses", "paid for animals to ride"],
  ["told a story about the war", "spoke of a battle long ago"],
  ["missed the last train", "was too late for the railway"],
  ["won a game of chess", "beat somebody on a board"],
  ["counted the stars", "looked up at the night sky"],
  ["sold a gold watch", "gave away a clock for money"],
  ["learned to swim", "practiced in the water"],
  ["fell asleep over a newspaper", "dozed while reading"],
] as const;

const places = [
  ["in the harbor", "where ships land"],
  ["behind the church", "near a house of prayer"],
  ["on a cold winter morning", "when there was snow"],
  ["at the edge of the forest", "close to the trees"],
  ["in a crowded market", "among many shoppers"],
  ["on top of a hill", "from a high place"],
  ["during a thunderstorm", "in bad weather"],
  ["in the library", "among books"],
  ["at the river", "beside running water"],
  ["in an empty theater", "before no audience"],
] as const;

/** Distinct, in a fixed order that mixes the parts. */
export const sentences: readonly string[] = people
  .flatMap(([person]) =>
    actions.flatMap(([action]) => places.map(([place]) => `${person} ${action} ${place}.`)),
  )
  .map((text) => text[0]!.toUpperCase() + text.slice(1));

export const questions: readonly string[] = Array.from({ length: 200 }, (_, at) => {
  const [, person] = people[at % people.length]!;
  const [, action] = actions[(at * 5) % actions.length]!;
  const [, place] = places[(at * 3) % places.length]!;
  return [
    `Which story is about ${person}, ${place}?`,
    `Who ${action}?`,
    `What happened to ${person} who ${action}?`,
    `Who ${action} ${place}?`,
  ][at % 4]!;
});
