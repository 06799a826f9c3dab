/** Errors of the admin API, by message id. */
export const adminErrors = {
  // Roles and projects
  role_needed:
    "This needs the role {needed}, and you have the role {role}. An administrator can change your role.",
  all_projects_needed:
    "This is only for users who see all projects. An administrator can give you access to all projects.",
  no_project_to_charge:
    "You are not a member of a project to which the request can be charged. An administrator can add you to one.",
  no_project_for_key:
    "You are not a member of a project to which the key can belong. An administrator can add you to one.",
  choose_own_project: "Choose one of your projects for the key: {projects}.",
  not_a_member: "You are not a member of the project {project}.",
  no_such_project: "There is no project {project}.",
  create_project_first: "There is no project {project}. Create it first.",
  unknown_project_of_user:
    "Invalid 'projects': there is no project {project}. Create it first, or leave it out.",
  too_many_keys:
    "The project {project} has {count} API keys, and {max} is the maximum. Revoke keys that are not used.",

  // Users and accounts
  no_such_user: "No user has this id.",
  unknown_user: "No user has the id {id}.",
  user_sees_all_projects:
    "{name} sees all projects. Limit the user to projects on the page of users first.",
  user_name_taken: "Another user has this name. Choose another one.",
  last_admin: "This is the last administrator who can sign in. Create another first.",
  user_disabled: "An administrator has disabled this user. Ask an administrator to enable it.",
  enable_user_first: "The user is disabled. Enable the user first.",
  user_needs_no_password: "The user signs in with OpenID Connect and needs no password.",
  wrong_password: "The password is wrong.",
  password_unchanged: "Choose a password that you do not have now.",
  choose_password_first:
    "Choose a new password first, with POST /admin/api/account/password or in the console.",
  no_such_session: "You have no session with this id.",
  no_such_token: "You have no token with this id.",
  too_many_tokens: "You have {max} tokens, which is the maximum. Revoke one of them.",
  no_second_factor: "The account has no second factor. Turn it on first.",
  only_signed_in_users: "Only a signed-in user has an account. A token cannot read or change it.",
  account_at_issuer:
    "You sign in with OpenID Connect: your password and second factor are at the issuer.",

  // Sign-in
  not_signed_in:
    "You are not signed in, or your session has ended. Sign in, or send the admin token in the header Authorization: Bearer TOKEN.",
  wrong_credentials: "The user name or the password is wrong.",
  wrong_admin_token:
    "Incorrect admin token. Use the value of VEXEL_ADMIN_TOKEN when the gateway started, or a token of your account that has not expired.",
  token_has_no_session: "The admin token has no session. Sign in as a user.",
  user_changed: "The user was changed or deleted during the sign-in. Sign in again.",
  code_needed: "Enter the code of your authenticator app, or a recovery code.",
  wrong_code: "The code is wrong or was used before. Wait for the next code.",
  enrollment_expired: "Invalid 'enrollment': it has expired. Start again.",
  foreign_enrollment: "Invalid 'enrollment': it is not one of this account. Start again.",
  code_not_current: "Invalid 'code': it is not the current code. Check the clock of your device.",
  setup_link_invalid:
    "This link is not valid. Use the link that the gateway printed at its last start.",
  setup_link_used:
    "This link was used before. Sign in, or ask an administrator to create a user for you.",
  invite_link_invalid:
    "This link is not valid: it was used, was replaced or has expired. Ask an administrator for a new one.",
  too_many_sign_ins_now: "Too many sign-ins at the same time. Try again soon.",
  too_many_failed_sign_ins: "Too many failed sign-ins. Try again in {seconds} seconds.",
  too_many_sign_ins_from_address:
    "Too many sign-ins from your address. Try again in {seconds} seconds.",
  too_many_wrong_tokens:
    "Too many requests with a wrong admin token. Try again in {seconds} seconds.",
  no_oidc: "There is no sign-in with OpenID Connect.",
  oidc_result_expired: "Invalid 'result': it has expired. Test the sign-in again.",
  foreign_oidc_result:
    "Invalid 'result': it is not a result of this gateway. Test the sign-in again.",
  wrong_csrf_token:
    "The header {header} is missing or wrong. It must be the csrf_token of GET /admin/api/session.",
  wrong_origin:
    "Requests from {origin} are not allowed. If this is the address of the console, set VEXEL_PUBLIC_URL to it.",
  wrong_host:
    "The console and the admin API are not served under the host '{host}'. If this is the address of the console, add the host to VEXEL_CONSOLE_HOSTS.",

  // Keys
  no_active_key: "No active key has this id.",
  no_active_api_key: "No active API key has this id.",
  key_in_file: "This key is defined in the configuration file. Change it there.",
  key_expired:
    "The key would have expired already. Choose a time in the future for 'expires'; a date means its start in UTC.",
  limit_locked:
    "An administrator set '{name}' of this key to {value}. Only an administrator may raise or remove it.",
  key_project_locked:
    "An administrator set a limit or a budget of this key. Only an administrator may change its project.",
  key_expiry_locked:
    "An administrator set a limit or a budget of this key. Only an administrator may let it expire later.",
  key_models_locked:
    "An administrator set a limit or a budget of this key. Only an administrator may add the models {models}.",

  // Entities
  no_such_entity: "There is no {kind} {id}.",
  entity_in_file:
    "The {kind} {id} is defined in {location}. Change it there: the gateway applies the file within a second.",
  entity_in_environment:
    "The {kind} {id} comes from the environment variable {location}. Change the variable and restart the gateway, or create an entity with another id.",
  entity_built_in: "The {kind} {id} is built into the gateway. Create an entity with another id.",
  entity_exists: "The {kind} {id} exists. Choose another id.",
  entity_exists_elsewhere: "The {kind} {id} exists: it comes from {location}. Choose another id.",
  entity_deleted: "The {kind} {id} was deleted in the meantime.",
  entity_changed:
    "The {kind} {id} has version {version}, and your change is based on version {based}. Reload it and repeat your change.",
  used_by_keys:
    "The {kind} {id} is used by the API keys {names}{more}. Change or delete them first.",
  used_by_models:
    "The {kind} {id} is used by the models {names}{more}. Change or delete them first.",
  id_is_path: "Invalid '{param}': in a URL, '.' and '..' mean another path. Choose another one.",
  wrong_if_match: `Invalid 'if-match': it must be the version of the entity, such as "3".`,

  // Reads
  wrong_cursor:
    "Invalid 'cursor': it is not the next_cursor of a page of this list. Start again without 'cursor'.",
  wrong_event_cursor:
    "Invalid 'cursor': no stored event has this ID. Start again without 'cursor'.",
  from_after_to: "Invalid 'from': it must be before 'to'.",
  one_label_dimension:
    "Usage is summed by one of tag, end user and status: give one of them in 'group_by' or as a filter.",
  single_dimension:
    "Usage by {dimension} is not summed by another dimension as well: give 'group_by={dimension}' and filters.",
  project_of_label_needed:
    "Send 'project' with 'end_user' or with 'tag': limits of end users and tags belong to a project.",
  no_such_request: "No request in the ledger has this id.",
  content_not_stored:
    "The content of this request is not stored. It is stored only for models with storeContent, until it expires.",
  too_many_live_views: "Too many live views are open. Close one, or try again later.",
  no_such_delivery:
    "No delivery of this event to this webhook exists. GET /admin/api/events lists the deliveries of each event.",
  no_such_webhook: "No webhook has this ID.",
  no_such_job: "No job has this id.",
  job_has_ended: "The job is {status}, and cannot be changed any more.",
  job_has_no_file: "The job has no {kind} now.",
  no_job_storage:
    "The replicas of this gateway share a database, and no storage for jobs. Set BLOB_URL.",
  no_such_model: "There is no model {model}.",
  no_such_image_model: "There is no image model {model}.",

  // Connection tests
  too_many_connection_tests: "{count} connection tests are running. Retry soon.",
  test_model_needed:
    "Missing required parameter: 'model', for the test request that the vendor may bill.",
  test_model_kind_needed:
    "Missing required parameter: 'modelKind'. The name does not show whether it is 'embedding' or 'image'.",

  // Parameters
  body_is_no_object: "The body must be a JSON object.",
  body_has_null: "The body contains the character U+0000 (null), which cannot be stored.",
  url_has_null: "The URL contains the character U+0000 (null).",
  parameter_missing: "Missing required parameter: '{param}'.",
  parameter_is_no_string: "Invalid '{param}': it must be a string.",
  parameter_twice: "Invalid '{param}': it is in the URL twice.",
  unknown_query: "Unknown parameter: '{param}'. The query parameters of this path are: {known}.",
  no_query: "Unknown parameter: '{param}'. This path has no query parameters.",
  parameter_invalid: "Invalid '{param}': {reason}",
} as const;
