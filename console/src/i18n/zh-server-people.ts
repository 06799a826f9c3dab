/** Texts of the server about users, accounts and invitations, and their translation. See `zh-server.ts`. */
export const zhServerPeople: Readonly<Record<string, string>> = {
  "This is the last administrator who can sign in. Create another first.":
    "这是最后一位可以登录的管理员。请先创建另一位。",
  "Incorrect admin token. Use the value of VEXEL_ADMIN_TOKEN when the gateway started, or a token of your account that has not expired.":
    "管理令牌不正确。请使用网关启动时 VEXEL_ADMIN_TOKEN 的值，或您账户中尚未过期的令牌。",
  "Choose a new password first, with POST /admin/api/account/password or in the console.":
    "请先在控制台中或通过 POST /admin/api/account/password 设置新密码。",
  "There is no sign-in with OpenID Connect.": "没有启用 OpenID Connect 登录。",
  "it has expired. Test the sign-in again.": "已过期。请重新测试登录。",
  "it is not a result of this gateway. Test the sign-in again.":
    "不是此网关的结果。请重新测试登录。",
  "{} is used by the {} {}{}. Change or delete them first.":
    "{1}正被以下{2}使用：{3}{4}。请先更改或删除它们。",
  models: "模型",
  "API keys": "API 密钥",
  "Invalid 'result': {}": "“result” 无效：{1}",
  "must start with http://, https:// or mailto:": "必须以 http://、https:// 或 mailto: 开头",
  "must have e-mail addresses only": "只能包含电子邮件地址",
  "must have at most {} e-mail addresses": "最多包含 {1} 个电子邮件地址",
  "has an e-mail address that is not valid": "包含无效的电子邮件地址",
  "is missing: it signs requests": "缺失：它用于对请求签名",
  "must be absent for e-mail": "电子邮件不能设置此项",
  "The password is wrong.": "密码错误。",
  "Choose a password that you do not have now.": "新密码不能与当前密码相同。",
  "You have no session with this id.": "您没有此 ID 的会话。",
  "The account has no second factor. Turn it on first.": "账户没有启用两步验证。请先启用。",
  "Only a signed-in user has an account. A token cannot read or change it.":
    "只有已登录的用户才有账户。令牌不能读取或更改账户。",
  "You sign in with OpenID Connect: your password and second factor are at the issuer.":
    "您通过 OpenID Connect 登录：密码和两步验证由签发方管理。",
  "You have no token with this id.": "您没有此 ID 的令牌。",
  "You have {} tokens, which is the maximum. Revoke one of them.":
    "您已有 {1} 个令牌，已达上限。请先吊销其中一个。",
  "The user is disabled. Enable the user first.": "该用户已停用。请先启用该用户。",
  "The user signs in with OpenID Connect and needs no password.":
    "该用户通过 OpenID Connect 登录，不需要密码。",
  "This link is not valid: it was used, was replaced or has expired. Ask an administrator for a new one.":
    "此链接无效：它已被使用、被替换或已过期。请向管理员索取新链接。",
  "Enter the code of your authenticator app, or a recovery code.":
    "请输入身份验证器应用中的验证码，或一个恢复码。",
  "The code is wrong or was used before. Wait for the next code.":
    "验证码错误或已被使用。请等待下一个验证码。",
  "An administrator has disabled this user. Ask an administrator to enable it.":
    "管理员已停用此用户。请联系管理员启用。",
  "it has expired. Start again.": "已过期。请重新开始。",
  "it is not the current code. Check the clock of your device.":
    "不是当前的验证码。请检查设备的时钟。",
  "it is not one of this account. Start again.": "不属于此账户。请重新开始。",
};
