/** English messages of the limits of end users and tags. `zh-label-limits.ts` has the same keys. */
export const enLabelLimits = {
  "budgets.scope.end_user": "End user",
  "budgets.scope.tag": "Tag",
  "labelLimits.title": "End users and tags",
  "labelLimits.hint":
    "Limits and budgets for each end user, and for each tag that matches a pattern.",
  "labelLimits.endUser": "Each end user",
  "labelLimits.tag": "Tag",
  "labelLimits.pattern": "Tag or pattern",
  "labelLimits.patternExample": "customer:*",
  "labelLimits.patternHint": "* matches any characters. Each matching tag gets its own limits.",
  "labelLimits.addEndUser": "Add end-user limit",
  "labelLimits.addTag": "Add tag limit",
  "project.budget": "Budgets and limits",
  "project.models": "Top models",
  "project.outcomes": "Outcomes",
  "project.manageKeys": "Manage keys",
  "project.events": "Budget thresholds",
  "project.events.none": "No budget threshold was reached",
  "project.threshold": "{name} reached {percent}% of {limit} ({period})",
  "projects.budget": "Budget used",
} as const;
