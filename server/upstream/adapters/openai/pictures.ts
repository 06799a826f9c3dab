/** Everything about pictures that OpenAI itself has, and what others have who speak its language. */
import type { Adapter } from "../../adapter.ts";
import { openaiTraitsOf } from "../../catalogue/pictures/index.ts";
import type { EditQuery, GenerationQuery } from "../../contract.ts";
import { type ImageTraits, openPictures } from "../../image-traits.ts";
import { openaiEdits, openaiGenerations } from "./images.ts";
import { openaiModerations } from "./moderations.ts";
import type { Place } from "./place.ts";
import { bySurface, responsesQuestion, throughResponses } from "./responses.ts";

type Pictures = Pick<Adapter, "generations" | "edits" | "pictures" | "moderations">;

/** OpenAI and Azure: two surfaces, and models whose abilities are known by name. */
export const openaiPictures = (place: Place): Pictures => ({
  generations: bySurface(openaiGenerations(place), responsesQuestion<GenerationQuery>(place)),
  edits: bySurface(openaiEdits(place, ["moderation"]), responsesQuestion<EditQuery>(place)),
  pictures: ({ model, surface }, operation) => {
    const traits = openaiTraitsOf(model, operation);
    return surface === "responses" ? throughResponses(traits) : traits;
  },
  moderations: openaiModerations(place),
});

/** A server nobody knows takes forms and says itself what it cannot do. References are OpenAI's own. */
const open: ImageTraits = {
  ...openPictures,
  edits: { maxImages: 16, mask: "transparent", files: true },
};

export const alike = (place: Place): Pictures => ({
  generations: openaiGenerations(place),
  edits: openaiEdits(place),
  pictures: () => open,
  moderations: openaiModerations(place),
});
