/** English messages of the limits of end users and tags. `zh-label-limits.ts` has the same keys. */
export const enLabelLimits = {
  "budgets.scope.end_user": "End user",
  "budgets.scope.tag": "Tag",
  "labelLimits.title": "End users and tags",
  "labelLimits.hint":
    "Limits and budgets of each end user, and of each tag that matches a pattern.",
  "labelLimits.endUser": "Each end user",
  "labelLimits.tag": "Tag",
  "labelLimits.pattern": "Tag or pattern",
  "labelLimits.patternExample": "customer:*",
  "labelLimits.patternHint": "* matches any characters. Each matching tag has its own limits.",
  "labelLimits.addEndUser": "Limit each end user",
  "labelLimits.addTag": "Limit a tag",
} as const;
