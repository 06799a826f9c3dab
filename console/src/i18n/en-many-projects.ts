/** English messages of changes of many projects at once, which only the list of projects loads. `zh-many-projects.ts` has the same keys. */
export const enManyProjects = {
  "many.choose": "Choose {name}",
  "many.chooseAll": "Choose all {count, number}",
  "many.clear": "Clear choice",
  "many.set": "Set budgets and limits ({count, number})",
  "many.title":
    "{count, plural, one {Budgets and limits of # project} other {Budgets and limits of # projects}}",
  "many.description": "Fields that stay empty are not changed.",
  "many.empty": "Fill in at least one field.",
  "many.apply": "Set",
  "many.outcomes": "Outcome for each project",
  "many.running": "{done, number} of {count, number}",
  "many.done":
    "{changed, number} changed, {unchanged, number} unchanged, {refused, number} refused",
  "many.changed": "Changed",
  "many.unchanged": "Unchanged",
  "many.refused": "Refused",
  "many.close": "Close",
} as const;
