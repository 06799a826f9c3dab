/** The limits of end users and tags of a project, as entries of a form. */
import { z } from "zod";
import type { LabelLimitsValue, ProjectValue } from "../../../../contract/admin.ts";
import { endUserOrTagLimits, tagPattern } from "../../../../contract/schemas/limits.ts";
import { budgetValues } from "../../ui/limit-fields.tsx";

export const labelsSchema = z.array(
  z.discriminatedUnion("scope", [
    endUserOrTagLimits.extend({ scope: z.literal("end_user") }),
    endUserOrTagLimits.extend({ scope: z.literal("tag"), tag: tagPattern }),
  ]),
);

type Labels = z.input<typeof labelsSchema>;

const entryOf = ({ limits = {}, budget }: LabelLimitsValue) => ({
  limits,
  budget: budgetValues(budget),
});

export const labelEntries = ({ perEndUser, perTag = {} }: ProjectValue = {}): Labels => [
  ...(perEndUser ? [{ scope: "end_user" as const, ...entryOf(perEndUser) }] : []),
  ...Object.entries(perTag).map(([tag, own]) => ({ scope: "tag" as const, tag, ...entryOf(own) })),
];

/** The members of the project. */
export function labelMembers(labels: Labels): Pick<ProjectValue, "perEndUser" | "perTag"> {
  const endUser = labels.find(({ scope }) => scope === "end_user");
  const tags = labels.flatMap((label) =>
    label.scope === "tag" ? [[label.tag, ownLimits(label)] as const] : [],
  );
  return {
    ...(endUser && { perEndUser: ownLimits(endUser) }),
    ...(tags.length > 0 && { perTag: Object.fromEntries(tags) }),
  };
}

/** Limits and a budget without any amount are none. */
const ownLimits = ({ limits, budget }: Labels[number]): LabelLimitsValue =>
  ({
    ...(hasValue(limits) && { limits }),
    ...(hasValue(budget) && { budget }),
  }) as LabelLimitsValue;

const hasValue = (members: object | undefined): boolean =>
  Object.values(members ?? {}).some((value) => value !== undefined);
