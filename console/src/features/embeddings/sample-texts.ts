/** Texts to start with: five topics, so that the map has groups. In English, as the built-in model. */
export const sampleTexts = [
  "The cat sleeps on the sofa.",
  "A kitten naps on the couch.",
  "Dogs love to play in the park.",
  "The puppy chased a ball.",
  "The stock market fell sharply today.",
  "Shares dropped after the earnings report.",
  "How do I bake sourdough bread?",
  "A recipe for a crusty loaf.",
  "Let the dough rise overnight.",
  "The train to Berlin leaves at noon.",
  "Flights to Paris are delayed.",
  "Where can I buy a bus ticket?",
].join("\n");
