/**
 * English messages of changes of many projects at once, which only the list of projects loads. `zh-many-projects.ts` has
 * the same keys.
 */
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
  "many.sending": "Sending the changes",
  "many.running": "{done, number} of {count, number}",
  "many.outcomes": "Outcome for each project",
  "many.created": "Created",
  "many.changed": "Changed",
  "many.unchanged": "Unchanged",
  "many.refused": "Refused",
  "many.count.created": "{count, number} created",
  "many.count.changed": "{count, number} changed",
  "many.count.unchanged": "{count, number} unchanged",
  "many.count.refused": "{count, number} refused",
  "many.close": "Close",

  "import.open": "Import CSV",
  "import.title": "Import projects and members",
  "import.description":
    "The first line names the columns: name, contact, monthly_budget, requests_per_minute, members. Empty cells change nothing. At most {lines, number} lines and 1 MB.",
  "import.file": "CSV file",
  "import.example": "Download an example",
  "import.plan": "Nothing has been changed yet.",
  "import.other": "Choose another file",
  "import.apply": "{count, plural, one {Apply # line} other {Apply # lines}}",
  "import.line": "Line {line, number}",
  "import.change.contact": "contact {value}",
  "import.change.month": "monthly budget {value}",
  "import.change.requestsPerMinute": "{value} requests per minute",
  "import.member.known": "member {name}",
  "import.member.knownAs": "member {name} as {role}",
  "import.member.new": "new user {name}",
  "import.member.newAs": "new user {name} as {role}",
  "import.bad.cells":
    "It has {count, number} values for {columns, number} columns. Put a value with a comma in quotes.",
  "import.bad.name": "The name of the project is missing, or is no valid name.",
  "import.bad.contact": "The contact is no email address: {value}",
  "import.bad.monthly_budget":
    "The monthly budget is no amount in US dollars, such as 25.5: {value}",
  "import.bad.requests_per_minute": "The requests per minute are no whole number from 1: {value}",
  "import.bad.members": "The members are not valid: {value}",
  "import.bad.role": "There is no role {value} in a project. The roles are {roles}.",
  "import.bad.repeated": "Line {line, number} has the same project.",
  "import.bad.readOnly": "The project is defined in {location}, and can be changed only there.",
  "import.bad.noUser":
    "There is no user {value}. Invite the user first, or use an email address: then the user is created.",
  "import.bad.allProjects": "The user {value} sees all projects already.",
  "import.bad.tooLarge": "The file is larger than 1 MB. Split it.",
  "import.bad.notText": "The file is no CSV in UTF-8.",
  "import.bad.csv": "Line {line, number} is not valid CSV: check its quotes.",
  "import.bad.columns":
    "The first line must name the columns, with commas between them. It is: {value}",
  "import.bad.empty": "The file has no line below the names of the columns.",
  "import.bad.lines":
    "The file has {count, number} lines. Split it: at most {max, number} are read.",
} as const;
