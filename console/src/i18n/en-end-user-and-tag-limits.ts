/** English messages of the limits of end users and tags. `zh-end-user-and-tag-limits.ts` has the same keys. */
export const enEndUserAndTagLimits = {
  "budgets.scope.end_user": "End user",
  "budgets.scope.tag": "Tag",
  "endUserAndTagLimits.title": "End users and tags",
  "endUserAndTagLimits.hint":
    "Limits and budgets for each end user, and for each tag that matches a pattern.",
  "endUserAndTagLimits.endUser": "Each end user",
  "endUserAndTagLimits.tag": "Tag",
  "endUserAndTagLimits.pattern": "Tag or pattern",
  "endUserAndTagLimits.patternExample": "customer:*",
  "endUserAndTagLimits.patternHint":
    "* matches any characters. Each matching tag gets its own limits.",
  "endUserAndTagLimits.addEndUser": "Add end-user limit",
  "endUserAndTagLimits.addTag": "Add tag limit",
  "project.budget": "Budgets and limits",
  "project.models": "Top models",
  "project.outcomes": "Outcomes",
  "project.manageKeys": "Manage keys",
  "project.events": "Latest events",
  "project.events.none": "No events",
  "project.threshold": "{name} reached {percent}% of {limit} ({period})",
  "projects.budget": "Budget used",
} as const;
