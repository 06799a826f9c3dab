/** Errors of the admin API, by message id. */
export const adminErrors = {
  // Roles and projects
  role_needed:
    "This requires the role {needed}. Your role is {role}. An administrator can change it.",
  all_projects_needed:
    "Only users with access to all projects can do this. An administrator can give you access.",
  no_project_to_charge:
    "You are not a member of a project that the request can be charged to. An administrator can add you to one.",
  no_project_for_key:
    "You are not a member of a project that the key can belong to. An administrator can add you to one.",
  choose_own_project: "Choose one of your projects for the key: {projects}.",
  not_a_member: "You are not a member of project {project}.",
  no_such_project: "Project {project} does not exist.",
  project_archived:
    "The project {project} is archived. Restore it first, or choose another project.",
  create_project_first: "Project {project} does not exist. Create it first.",
  unknown_project_of_user:
    "Invalid 'projects': project {project} does not exist. Create it first, or leave it out.",
  role_outside_projects:
    "Invalid 'project_roles': the user does not belong to project {project}. Add it to 'projects' first.",
  role_above_own:
    "You cannot give or take the role {role}: it may do more than yours in this project.",
  too_many_keys:
    "Project {project} has {count} API keys. The maximum is {max}. Revoke keys that are not used.",

  // Users and accounts
  no_such_user: "No user has this ID.",
  unknown_user: "No user has the ID {id}.",
  user_sees_all_projects:
    "{name} has access to all projects. Limit the user to projects on the Users page first.",
  user_name_taken: "Another user has this name. Choose a different one.",
  too_many_users:
    "There are {max} users, which is the maximum. Delete users who no longer sign in.",
  last_admin: "This is the last administrator who can sign in. Create another one first.",
  user_disabled: "An administrator disabled this user. Ask an administrator to enable it.",
  enable_user_first: "The user is disabled. Enable the user first.",
  user_needs_no_password: "The user signs in with OpenID Connect and needs no password.",
  wrong_password: "The password is wrong.",
  password_needed: "Confirm this with your password, in `password`.",
  password_unchanged: "The new password must differ from the current one.",
  choose_password_first:
    "Choose a new password first, with POST /admin/api/account/password or in the console.",
  no_such_session: "You have no session with this ID.",
  no_such_token: "You have no token with this ID.",
  too_many_tokens: "You have {max} tokens, the maximum. Revoke one of them first.",
  no_second_factor: "Two-factor authentication is off. Turn it on first.",
  only_signed_in_users: "Only signed-in users have an account. A token cannot read or change it.",
  account_at_issuer:
    "You sign in with OpenID Connect. Your identity provider manages your password and second factor.",

  // Sign-in
  not_signed_in:
    "You are not signed in, or your session has ended. Sign in, or send the admin token in the header Authorization: Bearer TOKEN.",
  wrong_credentials: "The username or password is wrong.",
  wrong_admin_token:
    "Incorrect admin token. Use the value that VEXEL_ADMIN_TOKEN had when the gateway started, or an access token of your account that has not expired.",
  token_has_no_session: "The admin token has no session. Sign in as a user.",
  user_changed: "The user was changed or deleted during sign-in. Sign in again.",
  code_needed: "Enter the code from your authenticator app, or a recovery code.",
  wrong_code: "The code is wrong or was already used. Wait for the next code.",
  enrollment_expired: "Invalid 'enrollment': it has expired. Start again.",
  foreign_enrollment: "Invalid 'enrollment': it belongs to another account. Start again.",
  code_not_current: "Invalid 'code': it is not the current code. Check the clock of your device.",
  setup_link_invalid:
    "This link is not valid. Use the link that the gateway printed when it last started.",
  setup_link_used:
    "This link was already used. Sign in, or ask an administrator to create a user for you.",
  invite_link_invalid:
    "This link is not valid: it was used or replaced, or it has expired. Ask an administrator for a new one.",
  too_many_sign_ins_now: "Too many sign-ins at the same time. Try again in a moment.",
  too_many_failed_sign_ins: "Too many failed sign-ins. Try again in {seconds} seconds.",
  too_many_sign_ins_from_address:
    "Too many sign-ins from your IP address. Try again in {seconds} seconds.",
  too_many_wrong_tokens:
    "Too many requests with a wrong admin token. Try again in {seconds} seconds.",
  no_oidc: "Single sign-on with OpenID Connect is off.",
  oidc_result_expired: "Invalid 'result': it has expired. Test the sign-in again.",
  oidc_no_email: "The identity has no email address.",
  oidc_email_unverified: "The email address {email} is not verified.",
  oidc_other_domain: "The email domain {domain} is not in VEXEL_OIDC_DOMAINS.",
  oidc_required_missing: "The claim {claim} has no value of VEXEL_OIDC_REQUIRED.",
  oidc_user_disabled: "The user is disabled.",
  oidc_no_role: "No value of the claim has a role, and VEXEL_OIDC_ROLE is none.",
  foreign_oidc_result:
    "Invalid 'result': it was not created by this gateway. Test the sign-in again.",
  wrong_csrf_token:
    "The header {header} is missing or wrong. It must be the csrf_token of GET /admin/api/session.",
  wrong_origin:
    "Requests from {origin} are not allowed. If this is the address of the console, set VEXEL_PUBLIC_URL to it.",
  wrong_host:
    "The console and the admin API are not served under the host '{host}'. If this is the address of the console, add the host to VEXEL_CONSOLE_HOSTS.",
  unknown_link_host:
    "The invitation would lead to the host '{host}', which is not known as an address of this gateway. Set VEXEL_PUBLIC_URL to the address that users open, or add the host to VEXEL_CONSOLE_HOSTS.",

  // Keys
  no_active_key: "No active key has this ID.",
  no_active_api_key: "No active API key has this ID.",
  key_in_file: "This key is defined in the configuration file. Change it there.",
  key_expired:
    "The key would already have expired. Choose a time in the future for 'expires'. A date means its start in UTC.",
  limit_locked:
    "An administrator set '{name}' on this key to {value}. Only an administrator can raise or remove it.",
  show_cost_locked: "Only an administrator can let a key see the cost of its requests.",
  key_project_locked:
    "An administrator set a limit or budget on this key. Only an administrator can change its project.",
  key_expiry_locked:
    "An administrator set a limit or budget on this key. Only an administrator can extend its expiry.",
  key_models_locked:
    "An administrator set a limit or budget on this key. Only an administrator can add the models {models}.",

  // Entities
  no_such_entity: "There is no {kind} {id}.",
  entity_in_file:
    "The {kind} {id} is defined in {location}. Change it there. The gateway applies the file within a second.",
  entity_in_environment:
    "The {kind} {id} comes from the environment variable {location}. Change the variable and restart the gateway, or use another ID.",
  entity_built_in: "The {kind} {id} is built into the gateway. Use another ID.",
  entity_exists: "The {kind} {id} already exists. Choose another ID.",
  entity_exists_elsewhere: "The {kind} {id} already exists in {location}. Choose another ID.",
  entity_deleted: "The {kind} {id} has been deleted in the meantime.",
  entity_changed:
    "The {kind} {id} has version {version}, but your change is based on version {based}. Reload it and repeat your change.",
  used_by_keys:
    "The {kind} {id} is used by the API keys {names}{more}. Change or delete them first.",
  used_by_models:
    "The {kind} {id} is used by the models {names}{more}. Change or delete them first.",
  is_referenced:
    "The {kind} {id} is used by {names}{more}. Change them first, or delete it with force=true.",
  and_more: " and {count} more",
  id_is_path:
    "Invalid '{param}': '.' and '..' are not allowed, because they mean another path in a URL.",
  wrong_if_match: `Invalid 'if-match': it must be the version of the entity, such as "3".`,

  // Reads
  wrong_cursor:
    "Invalid 'cursor': it is not the next_cursor of a page of this list. Start again without 'cursor'.",
  wrong_event_cursor:
    "Invalid 'cursor': no stored event has this ID. Start again without 'cursor'.",
  from_after_to: "Invalid 'from': it must be before 'to'.",
  one_event_subject: "Events can be filtered by only one of project, key and upstream.",
  one_of_tag_end_user_status:
    "Usage can be grouped or filtered by only one of tag, end user and status.",
  single_dimension:
    "Usage by {dimension} cannot be grouped by another dimension. Use 'group_by={dimension}' and filters.",
  project_of_end_user_or_tag_needed:
    "Send 'project' together with 'end_user' or 'tag': limits of end users and tags belong to a project.",
  no_such_request: "No request in the ledger has this ID.",
  no_statement:
    "The project has no statement of this month. A month with requests has one from the second day of the next month (UTC) on.",
  content_not_stored:
    "The content of this request is not stored. Content is stored only for models with storeContent, until it expires.",
  too_many_live_views: "Too many live views are open. Close one, or try again later.",
  no_such_delivery:
    "This event has no delivery to this webhook. GET /admin/api/events lists the deliveries of each event.",
  no_such_webhook: "No webhook has this ID.",
  no_such_job: "No job has this ID.",
  job_has_ended: "The job is {status} and can no longer be changed.",
  job_has_no_file: "The job has no {kind} yet.",
  no_job_storage:
    "The replicas share a database but have no shared storage for jobs. Set BLOB_URL.",
  no_such_model: "Model {model} does not exist.",
  no_such_image_model: "Image model {model} does not exist.",

  // Connection tests
  too_many_connection_tests: "{count} connection tests are running. Try again in a moment.",
  test_model_needed:
    "Missing required parameter: 'model'. The test request, which the vendor may bill, needs a model.",
  test_model_kind_needed:
    "Missing required parameter: 'modelKind'. The name does not show whether the model is 'embedding' or 'image'.",

  // Parameters
  body_is_no_object: "The body must be a JSON object.",
  body_has_null: "The body contains the character U+0000 (null), which cannot be stored.",
  url_has_null: "The URL contains the character U+0000 (null).",
  parameter_missing: "Missing required parameter: '{param}'.",
  parameter_is_no_string: "Invalid '{param}': it must be a string.",
  parameter_twice: "Invalid '{param}': it occurs more than once in the URL.",
  unknown_query: "Unknown parameter: '{param}'. The query parameters of this path are: {known}.",
  no_query: "Unknown parameter: '{param}'. This path has no query parameters.",
  parameter_invalid: "Invalid '{param}': {reason}",
} as const;
