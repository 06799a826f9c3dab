/** The limits of end users and tags of a project, as entries of a form. */
import { z } from "zod";
import type { EndUserOrTagLimitsValue, ProjectValue } from "../../../../contract/admin.ts";
import { endUserOrTagLimits, tagPattern } from "../../../../contract/schemas/limits.ts";
import { budgetValues } from "../../ui/limit-fields.tsx";

export const endUsersAndTagsSchema = z.array(
  z.discriminatedUnion("scope", [
    endUserOrTagLimits.extend({ scope: z.literal("end_user") }),
    endUserOrTagLimits.extend({ scope: z.literal("tag"), tag: tagPattern }),
  ]),
);

type EndUsersAndTags = z.input<typeof endUsersAndTagsSchema>;

const entryOf = ({ limits = {}, budget }: EndUserOrTagLimitsValue) => ({
  limits,
  budget: budgetValues(budget),
});

export const endUserAndTagEntries = ({
  perEndUser,
  perTag = {},
}: ProjectValue = {}): EndUsersAndTags => [
  ...(perEndUser ? [{ scope: "end_user" as const, ...entryOf(perEndUser) }] : []),
  ...Object.entries(perTag).map(([tag, own]) => ({ scope: "tag" as const, tag, ...entryOf(own) })),
];

/** The members of the project. */
export function endUserAndTagMembers(
  endUsersAndTags: EndUsersAndTags,
): Pick<ProjectValue, "perEndUser" | "perTag"> {
  const endUser = endUsersAndTags.find(({ scope }) => scope === "end_user");
  const tags = endUsersAndTags.flatMap((each) =>
    each.scope === "tag" ? [[each.tag, ownLimits(each)] as const] : [],
  );
  return {
    ...(endUser && { perEndUser: ownLimits(endUser) }),
    ...(tags.length > 0 && { perTag: Object.fromEntries(tags) }),
  };
}

/** Limits and a budget without any amount are none. */
const ownLimits = ({ limits, budget }: EndUsersAndTags[number]): EndUserOrTagLimitsValue =>
  ({
    ...(hasValue(limits) && { limits }),
    ...(hasValue(budget) && { budget }),
  }) as EndUserOrTagLimitsValue;

const hasValue = (members: object | undefined): boolean =>
  Object.values(members ?? {}).some((value) => value !== undefined);
