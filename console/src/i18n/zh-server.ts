/**
 * Texts that the server generates in English, and their translation. `{}` in the English text stands for a value, and
 * `{1}` in the translation for the first value. Values that are texts of the server are translated as well.
 */
import { zhServerPeople } from "./zh-server-people.ts";

export const zhServer: Readonly<Record<string, string>> = {
  ...zhServerPeople,
  // Fields of upstreams.
  "The folder of the model.": "模型所在的文件夹。",
  "The address of the API.": "API 的地址。",
  "The API key or token of the vendor.": "供应商的 API 密钥或令牌。",
  "How token vectors are combined. Absent: as the folder says.":
    "词元向量的合并方式。留空：按文件夹中的设置。",
  "Whether vectors are normalized to length 1.": "是否将向量归一化为长度 1。",
  "The longest input, if it should be shorter than the model allows.":
    "最长输入，若应短于模型允许的长度。",
  "Extra headers of every request to the upstream.": "发往上游的每个请求的附加标头。",
  "Whether the server supports encoding_format base64, which is smaller and exact.":
    "服务器是否支持 encoding_format base64，它更小且精确。",
  "The AWS region, such as us-east-1.": "AWS 区域，例如 us-east-1。",
  "The region, such as us-chicago-1.": "区域，例如 us-chicago-1。",
  "The id of the AWS access key.": "AWS 访问密钥的 ID。",
  "The secret of the AWS access key.": "AWS 访问密钥的机密。",
  "The session token of temporary AWS credentials.": "临时 AWS 凭据的会话令牌。",
  "Entra ID instead of an API key: how the gateway gets a token.":
    "使用 Entra ID 代替 API 密钥：网关获取令牌的方式。",
  "The Entra tenant, for client-secret and certificate.":
    "Entra 租户，用于 client-secret 和 certificate。",
  "The app registration, or the client id of a user-assigned managed identity.":
    "应用注册，或用户分配的托管标识的客户端 ID。",
  "The client secret of the app registration.": "应用注册的客户端机密。",
  "The certificate of the app registration and its private key, in PEM.":
    "应用注册的证书及其私钥，PEM 格式。",
  "Credentials of Google Cloud instead of a key: where the gateway gets a token.":
    "使用 Google Cloud 凭据代替密钥：网关获取令牌的来源。",
  "The path of a credential file on the gateway's machine, for the type file.":
    "网关所在机器上凭据文件的路径，用于类型 file。",
  "Credentials of AWS instead of static keys: where the gateway gets them.":
    "使用 AWS 凭据代替静态密钥：网关获取凭据的来源。",
  "The profile in the AWS files of the gateway's machine, for the type profile.":
    "网关所在机器的 AWS 文件中的配置文件，用于类型 profile。",
  "A role that is assumed with these credentials.": "使用这些凭据代入的角色。",
  "The external id that the role requires.": "该角色要求的外部 ID。",
  "The name of the role's session in CloudTrail. Absent: vexel.":
    "角色会话在 CloudTrail 中的名称。留空：vexel。",
  "The family of the models, for model ids that do not show it, such as profiles.":
    "模型系列，用于无法从模型 ID 得知的情况，例如配置文件。",
  "The most inputs in one request.": "一个请求中的最大输入数。",
  "The version of the embeddings API. Absent: 2024-05-01-preview.":
    "嵌入 API 的版本。留空：2024-05-01-preview。",
  "The version of the deployments API, such as 2024-10-21. Absent: the v1 API.":
    "部署 API 的版本，例如 2024-10-21。留空：v1 API。",
  "The id of the Cloudflare account.": "Cloudflare 账户的 ID。",
  "The client id of a service principal, whose secret is apiKey. Absent: apiKey is a token.":
    "服务主体的客户端 ID，其机密为 apiKey。留空：apiKey 是令牌。",
  "The client id, from the service key (clientid).": "服务密钥中的客户端 ID（clientid）。",
  "The id of the Google Cloud project.": "Google Cloud 项目的 ID。",
  "The location, such as us-central1 or global.": "位置，例如 us-central1 或 global。",
  "The key file of a service account, as JSON text.": "服务账号的密钥文件，JSON 文本。",
  "The name of the model's prompt for each task type, such as query: query, document: passage.":
    "每种任务类型对应的模型提示名称，例如 query: query，document: passage。",
  "The id of the project that is billed.": "计费项目的 ID。",
  "The id of the deployment space that is billed.": "计费部署空间的 ID。",
  "The version of the API, as a date.": "API 的版本，以日期表示。",
  "The address of the token service. Absent: that of Sber.": "令牌服务的地址。留空：Sber 的地址。",
  "The scope of the account. Absent: GIGACHAT_API_PERS.":
    "账户的权限范围。留空：GIGACHAT_API_PERS。",
  "The address of the token service. Absent: that of IBM Cloud.":
    "令牌服务的地址。留空：IBM Cloud 的地址。",
  "The name of the model's input tensor.": "模型输入张量的名称。",
  "The name of the model's output tensor.": "模型输出张量的名称。",
  "Whether the input tensor is a column, with one text in each row.":
    "输入张量是否为一列，每行一个文本。",
  "The OCID of the compartment that is billed.": "计费区间的 OCID。",
  "The OCID of the tenancy.": "租户的 OCID。",
  "The OCID of the user whose key signs the requests.": "以其密钥签署请求的用户的 OCID。",
  "The fingerprint of the API signing key.": "API 签名密钥的指纹。",
  "The API signing key: an RSA private key in PEM.": "API 签名密钥：PEM 格式的 RSA 私钥。",
  "The address of the token service, from the service key (url).":
    "服务密钥中的令牌服务地址（url）。",
  "The AI resource group of the deployment.": "部署的 AI 资源组。",
  "The type of the token in apiKey. Absent: PROGRAMMATIC_ACCESS_TOKEN.":
    "apiKey 中令牌的类型。留空：PROGRAMMATIC_ACCESS_TOKEN。",
  // Conditions that need attention.
  "Rows cannot be written. Check the disk of VEXEL_DATA; the events have the reason.":
    "无法写入记录。请检查 VEXEL_DATA 所在的磁盘；事件中有原因。",
  "{} The previous configuration stays in force.": "{1} 先前的配置继续生效。",
  "{} The previous certificate stays in force.": "{1} 先前的证书继续生效。",
  "${} of ${} ({})": "{1} / {2} 美元（{3}）",
  "{} failures in a row, the last: {}": "连续失败 {1} 次，最近一次：{2}",
  // Messages of the shared schemas.
  "must not contain line breaks or invisible characters": "不得包含换行符或不可见字符",
  "must not contain spaces, line breaks or invisible characters":
    "不得包含空格、换行符或不可见字符",
  "contains a space, a line break or another character that is not visible ASCII":
    "包含空格、换行符或其他非可见 ASCII 字符",
  "it must have {} to {} characters.": "必须有 {1} 到 {2} 个字符。",
  "must be a number of minutes, hours or days, such as 30m, 24h or 7d":
    "必须是分钟、小时或天数，例如 30m、24h 或 7d",
  "must be at most 30d": "最多为 30d",
  "The console and the admin API are not served under the host '{}'. If this is the address of the console, add the host to VEXEL_CONSOLE_HOSTS.":
    "控制台和管理 API 不在主机 '{1}' 下提供。若这是控制台的地址，请将该主机加入 VEXEL_CONSOLE_HOSTS。",
  "must have at most {} entries": "最多有 {1} 项",
  "must be a tag, or a pattern with * and ?, of letters, digits, spaces and the characters _ . : / @ = + -":
    "必须是标签或含 * 和 ? 的模式，由字母、数字、空格和字符 _ . : / @ = + - 组成",
  "Send 'project' with 'end_user' or with 'tag': limits of end users and tags belong to a project.":
    "请将 'project' 与 'end_user' 或 'tag' 一起发送：最终用户和标签的限额属于项目。",
  "must have at most {} patterns with * or ?": "最多有 {1} 个含 * 或 ? 的模式",
  "must have at most {} characters in total. Use patterns with * or ?":
    "总共最多 {1} 个字符。请使用含 * 或 ? 的模式",
  "The project {} has {} API keys, and {} is the maximum. Revoke keys that are not used.":
    "项目 {1} 有 {2} 个 API 密钥，最多为 {3} 个。请吊销不使用的密钥。",
  "is not a valid header name": "不是有效的标头名称",
  "contains a line break or another character that is not allowed in a header":
    "包含换行符或标头中不允许的其他字符",
  "is not a URL": "不是 URL",
  "must start with http:// or https://": "必须以 http:// 或 https:// 开头",
  "must not contain a user name or password: use apiKey": "不得包含用户名或密码：请使用 apiKey",
  "must not contain a query (?) or fragment (#)": "不得包含查询（?）或片段（#）",
  "must not contain a fragment (#)": "不得包含片段（#）",
  "must not contain a user name or password: requests are authenticated by their signature":
    "不得包含用户名或密码：请求通过签名验证",
  'must be whsec_ and {} to {} random bytes in base64, such as: echo "whsec_$(openssl rand -base64 32)"':
    '必须是 whsec_ 加 {1} 到 {2} 个随机字节的 base64，例如：echo "whsec_$(openssl rand -base64 32)"',
  // Steps of a connection test.
  "{} resolves to {}.": "{1} 解析为 {2}。",
  "{} has the address {}, which is link-local or a metadata service. The gateway does not connect to it.":
    "{1} 的地址 {2} 是链路本地地址或元数据服务。网关不会连接到它。",
  "Port {} accepts connections.": "端口 {1} 接受连接。",
  "The certificate is valid for {}.": "证书对 {1} 有效。",
  "The address is plain http.": "地址是未加密的 http。",
  "The name server did not answer for {}{}. Check the network of the gateway.":
    "名称服务器未应答 {1}{2}。请检查网关的网络。",
  "The name {} does not exist{}. Check the base URL.": "名称 {1} 不存在{2}。请检查基础 URL。",
  "The TLS handshake with {} failed{}. Check whether the port speaks https.":
    "与 {1} 的 TLS 握手失败{2}。请检查该端口是否使用 https。",
  "The certificate of {} is not valid: {}{}. To trust another authority, set NODE_EXTRA_CA_CERTS.":
    "{1} 的证书无效：{2}{3}。可用 NODE_EXTRA_CA_CERTS 添加证书颁发机构。",
  "Nothing listens at {}{}. Check the port, and whether the server runs.":
    "{1} 没有服务在监听{2}。请检查端口，以及服务器是否在运行。",
  "{} did not accept a connection in time{}. A firewall may block it.":
    "{1} 未及时接受连接{2}。可能被防火墙阻止。",
  "{} cannot be connected to{}.": "无法连接到 {1}{2}。",
  "The server responded with status {}.": "服务器返回状态 {1}。",
  "{} sent no response within {} s.": "{1} 在 {2} 秒内没有响应。",
  "The server refuses the credential (status {}){}. Check it and its permissions.":
    "服务器拒绝该凭据（状态 {1}）{2}。请检查凭据及其权限。",
  "The server requires a credential (status {}){}, and none is set.":
    "服务器要求凭据（状态 {1}）{2}，但未设置。",
  "No credential is set.": "未设置凭据。",
  "The vendor's token service accepted the credential.": "供应商的令牌服务接受了该凭据。",
  "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them. ({})":
    "上游拒绝了网关的凭据。请检查凭据。（{1}）",
  "The upstream's token service is unavailable. Retry later. ({})":
    "上游的令牌服务不可用。请稍后重试。（{1}）",
  "The credential is accepted.": "凭据有效。",
  "The vendor has no free request that checks a credential. A test that may cost money does.":
    "供应商没有可验证凭据的免费请求。可能产生费用的测试可以验证。",
  "The model responded to a request that may cost money.": "模型响应了可能产生费用的请求。",
  "The model did not respond in time.": "模型未及时响应。",
  "The model runs inside the gateway.": "模型在网关内运行。",
  "Requests to this address go through a proxy.": "发往此地址的请求经过代理。",
  "{} redirects to another address (status {}). Set the base URL to that address.":
    "{1} 重定向到其他地址（状态 {2}）。请将基础 URL 设为该地址。",
  "{} limits the rate of requests (status 429){}. Test it later, or check the quota of the account.":
    "{1} 限制请求速率（状态 429）{2}。请稍后再测试，或检查账户的配额。",
  "{} has an error (status {}){}. Test it later, or check that the base URL is the address of its API.":
    "{1} 出错（状态 {2}）{3}。请稍后再测试，或检查基础 URL 是否为其 API 的地址。",
  "{} refuses the request (status {}){}. Check the base URL, the credential and the options.":
    "{1} 拒绝该请求（状态 {2}）{3}。请检查基础 URL、凭据和选项。",
  // When an error occurs.
  "The request has no API key.": "请求没有 API 密钥。",
  "The API key is unknown, revoked, expired or malformed.":
    "API 密钥未知、已吊销、已过期或格式错误。",
  "No route has this path.": "没有此路径。",
  "The path exists, but not for this method.": "路径存在，但不支持此方法。",
  "The body ended before the length in `content-length`, or before its last chunk.":
    "正文在 `content-length` 的长度或最后一个分块之前结束。",
  "The path does not accept this content type or content encoding.":
    "此路径不接受该内容类型或内容编码。",
  "An embeddings request has no `model`, and no default model applies.":
    "嵌入请求没有 `model`，且没有适用的默认模型。",
  "A parameter occurs more than once.": "某个参数出现多次。",
  "The embeddings inputs together have more tokens than one request may have.":
    "嵌入输入的词元总数超过一个请求的上限。",
  "The prompt exceeds the model's maximum length.": "提示超过模型的最大长度。",
  "The model does not support a transparent background.": "模型不支持透明背景。",
  "An uploaded file is not an image in a supported format.": "上传的文件不是受支持格式的图像。",
  "The `Idempotency-Key` header is empty, too long, or not printable ASCII.":
    "`Idempotency-Key` 标头为空、过长或不是可打印的 ASCII。",
  "The `Idempotency-Key` was used before with a different request.":
    "该 `Idempotency-Key` 已用于另一个请求。",
  "No response is stored for this request ID, or it has expired, or it belongs to another API key.":
    "没有为此请求 ID 存储响应，或已过期，或属于其他 API 密钥。",
  "No model has this ID, or the API key may not use it.":
    "没有模型使用此 ID，或 API 密钥无权使用它。",
  "The ledger cannot be written (disk full or read-only, data folder removed or damaged), so the request is refused.":
    "无法写入账本（磁盘已满或只读，数据文件夹被删除或损坏），因此拒绝请求。",
  "An upload or a result cannot be written to disk, or the database or the object store of the gateway cannot be reached.":
    "无法将上传或结果写入磁盘，或无法连接网关的数据库或对象存储。",
  "The gateway has a bug. The log has the stack trace under the request ID.":
    "网关存在缺陷。日志中该请求 ID 下有堆栈跟踪。",
  "The body is not valid JSON, or is not a JSON object.":
    "请求正文不是有效的 JSON，或不是 JSON 对象。",
  "The multipart form is malformed or truncated.": "multipart 表单格式错误或不完整。",
  "The body, a file or a field exceeds its maximum size.": "正文、文件或字段超过最大大小。",
  "The body was not received within the body timeout.": "未在超时前收到完整正文。",
  "A required parameter is missing.": "缺少必需参数。",
  "The `input` of an embeddings request is empty, too long, or of an invalid type.":
    "嵌入请求的 `input` 为空、过长或类型无效。",
  "A parameter has the wrong type.": "某个参数的类型错误。",
  "A parameter has an invalid value.": "某个参数的值无效。",
  "The parameter is unknown, or the model does not support it.": "参数未知，或模型不支持该参数。",
  "One embeddings input has more tokens than the model's context length.":
    "某个嵌入输入的词元数超过模型的上下文长度。",
  "The model does not support `dimensions`, or not this value.":
    "模型不支持 `dimensions`，或不支持此值。",
  "The model does not support this image size.": "模型不支持此图像尺寸。",
  "An uploaded image cannot be decoded.": "无法解码上传的图像。",
  "A safety system rejected the request.": "安全系统拒绝了该请求。",
  "An embeddings request names an image model.": "嵌入请求指定了图像模型。",
  "An image request names an embedding model.": "图像请求指定了嵌入模型。",
  "The model does not support this operation.": "模型不支持此操作。",
  "A rate limit of the API key, its project, the end user, a tag or the model is exhausted.":
    "API 密钥、其项目、最终用户、标签或模型的速率限制已用尽。",
  "The request alone exceeds a rate limit, so it can never be admitted.":
    "该请求本身就超过速率限制，因此永远无法被接受。",
  "All concurrency slots are in use, and the queue is full or the request timed out while queued.":
    "所有并发名额都在使用中，且队列已满或请求在排队时超时。",
  "Unfinished requests of the API key use its whole share of temp storage, or of the memory for JSON bodies, so another body is not read.":
    "该 API 密钥未完成的请求已用尽其临时存储或 JSON 正文内存的份额，因此不再读取新的正文。",
  "The estimated cost of the request exceeds the remaining budget of its API key, project, end user or tag.":
    "请求的估算费用超过其 API 密钥、项目、最终用户或标签的剩余预算。",
  "The request has no known price, and a budget refuses requests without one.":
    "请求没有已知价格，而预算拒绝此类请求。",
  "The upstream rejected the request as invalid.": "上游认为请求无效并拒绝。",
  "The upstream account may not use this model.": "上游账户无权使用此模型。",
  "The upstream's rate limit is exceeded.": "超过上游的速率限制。",
  "The rate of requests to the upstream increased too quickly.": "发往上游的请求速率增长过快。",
  "The upstream account has no credit or quota left.": "上游账户没有剩余额度或配额。",
  "The spending limit of the upstream account is reached.": "已达到上游账户的支出上限。",
  "The upstream rejected the gateway's credentials.": "上游拒绝了网关的凭据。",
  "The upstream failed, or its configured URL is wrong.": "上游出错，或其配置的 URL 错误。",
  "The upstream is overloaded.": "上游过载。",
  "The connection to the upstream could not be established, or was lost.":
    "无法建立到上游的连接，或连接中断。",
  "The request timed out before the upstream responded.": "在上游响应之前请求超时。",
  "The upstream's response is invalid: wrong number or order of results, wrong dimensions or structure, or an image that is truncated or is not an image.":
    "上游的响应无效：结果的数量或顺序错误、维度或结构错误，或图像不完整或不是图像。",
  "Every target of the model is ejected or cooling down, and none is due for a probe yet.":
    "模型的所有目标都已被移除或正在冷却，且尚未到探测时间。",
  "The client closed the connection before the response was complete.":
    "客户端在响应完成前关闭了连接。",
  "The project of the API key has no file, batch or other object with this id.":
    "该 API 密钥所属的项目没有使用此 ID 的文件、批处理或其他对象。",
  "The upload or the batch has ended, so that it cannot be changed any more.":
    "上传或批处理已结束，无法再更改。",
  "The files of the project, or of the gateway, have used up their space.":
    "项目或网关的文件空间已用尽。",
  "The gateway has no storage for files that its replicas share.":
    "网关没有可供副本共享的文件存储。",
  "The gateway has no storage for jobs that its replicas share.":
    "网关没有可供副本共享的作业存储。",
  "The project, or the gateway, has too many unfinished jobs, or its jobs have used up their space.":
    "项目或网关的未完成作业过多，或其作业空间已用尽。",
  "The job cannot be deleted, because it has not ended.": "作业尚未结束，无法删除。",
  "The job was canceled before it ended.": "作业在结束前被取消。",
  "The deadline of the job was over before it ended.": "作业在结束前已超过截止时间。",
  "The batch at the vendor that should have run the line failed, or was refused.":
    "本应运行此请求的供应商批处理失败或被拒绝。",
  "The gateway stopped while an image of the job was generated, and the image is lost. It may have been billed, and is not generated again.":
    "网关在生成作业的图像时停止，图像已丢失。它可能已计费，不会再次生成。",
  "The stored input of the job is missing or incomplete.": "作业的已存储输入缺失或不完整。",
  "The gateway is overloaded and sheds the request.": "网关过载，拒绝了该请求。",
  "The limits that the configuration sets for the upstream or the target are exhausted.":
    "配置为上游或目标设置的限制已用尽。",
  "The gateway is shutting down: it accepts no new requests, and ends those that are still in flight after the drain.":
    "网关正在关闭：不接受新请求，并会结束排空期之后仍在处理的请求。",
  // Errors of the admin API.
  "Invalid 'cursor': it is not the next_cursor of a page of this list. Start again without 'cursor'.":
    "“cursor” 无效：它不是此列表某页的 next_cursor。请去掉 “cursor” 重新开始。",
  "Invalid 'cursor': no stored event has this ID. Start again without 'cursor'.":
    "“cursor” 无效：没有事件使用此 ID。请去掉 “cursor” 重新开始。",
  "This needs the role {}, and you have the role {}. An administrator can change your role.":
    "此操作需要角色 {1}，而您的角色是 {2}。管理员可以更改您的角色。",
  "This is only for users who see all projects. An administrator can give you access to all projects.":
    "仅限可查看所有项目的用户。管理员可以授予您所有项目的访问权限。",
  "You are not a member of a project to which the request can be charged. An administrator can add you to one.":
    "您不属于任何可计费该请求的项目。管理员可以将您加入项目。",
  "You are not a member of the project {}.": "您不是项目 {1} 的成员。",
  "The body must be a JSON object.": "请求正文必须是 JSON 对象。",
  "Unknown parameter: '{}'. {}": "未知参数：“{1}”。{2}",
  "Unknown parameter: '{}'.": "未知参数：“{1}”。",
  "No user has this id.": "没有用户使用此 ID。",
  "Invalid 'projects': there is no project {}. Create it first, or leave it out.":
    "“projects” 无效：没有项目 {1}。请先创建，或将其去掉。",
  "Another user has this name. Choose another one.": "已有用户使用此名称。请选择其他名称。",
  "The user name or the password is wrong.": "用户名或密码错误。",
  "The user was changed or deleted during the sign-in. Sign in again.":
    "登录过程中该用户已被更改或删除。请重新登录。",
  "This link is not valid. Use the link that the gateway printed at its last start.":
    "此链接无效。请使用网关最近一次启动时输出的链接。",
  "This link was used before. Sign in, or ask an administrator to create a user for you.":
    "此链接已被使用。请登录，或请管理员为您创建用户。",
  "The admin token has no session. Sign in as a user.": "管理令牌没有会话。请以用户身份登录。",
  "No user has the id {}.": "没有用户使用 ID {1}。",
  "{} sees all projects. Limit the user to projects on the page of users first.":
    "{1} 可查看所有项目。请先在用户页面将其限制到项目。",
  "No request in the ledger has this id.": "账本中没有此 ID 的请求。",
  "The content of this request is not stored. It is stored only for models with storeContent, until it expires.":
    "此请求的内容未存储。仅对设置了 storeContent 的模型存储，直至过期。",
  "Too many live views are open. Close one, or try again later.":
    "打开的实时视图过多。请关闭一个，或稍后重试。",
  "Invalid 'from': it must be before 'to'.": "“from” 无效：必须早于 “to”。",
  "Usage is summed by one of tag, end user and status: give one of them in 'group_by' or as a filter.":
    "用量只能按标签、最终用户、状态之一汇总：请在 “group_by” 或筛选条件中只给出其中一项。",
  "Usage by {} is not summed by another dimension as well: give 'group_by={}' and filters.":
    "按 {} 汇总的用量不能再按其他维度汇总：请使用 “group_by={}” 和筛选条件。",
  "This key is defined in the configuration file. Change it there.":
    "此密钥在配置文件中定义。请在那里更改。",
  "There is no project {}.": "没有项目 {1}。",
  "Invalid '{}': in a URL, '.' and '..' mean another path. Choose another one.":
    "“{1}” 无效：在 URL 中，“.” 和 “..” 表示其他路径。请另选一个。",
  "The URL contains the character U+0000 (null).": "URL 包含字符 U+0000（空字符）。",
  "The body contains the character U+0000 (null), which cannot be stored.":
    "请求正文包含无法存储的字符 U+0000（空字符）。",
  "Invalid '{}': it is in the URL twice.": "“{1}” 无效：它在 URL 中出现了两次。",
  "it must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z":
    "必须是日期（例如 2027-01-31）或时间（例如 2027-01-31T12:00:00Z）",
  "You are not a member of a project to which the key can belong. An administrator can add you to one.":
    "您不是任何可拥有该密钥的项目的成员。管理员可以将您加入项目。",
  "There is no project {}. Create it first.": "没有项目 {1}。请先创建。",
  "An administrator set '{}' of this key to {}. Only an administrator may raise or remove it.":
    "管理员已将此密钥的 “{1}” 设置为 {2}。只有管理员可以提高或移除它。",
  "An administrator set a limit or a budget of this key. Only an administrator may {}.":
    "管理员为此密钥设置了限制或预算。只有管理员可以{1}。",
  "change its project": "更改其项目",
  "let it expire later": "延后其过期时间",
  "add the models {}": "添加模型 {1}",
  "Choose one of your projects for the key: {}.": "请为密钥选择您的一个项目：{1}。",
  "The key would have expired already. Choose a time in the future for 'expires'; a date means its start in UTC.":
    "密钥会立即过期。请为 “expires” 选择将来的时间；日期表示其 UTC 零点。",
  "No active key has this id.": "没有有效密钥使用此 ID。",
  "No delivery of this event to this webhook exists. GET /admin/api/events lists the deliveries of each event.":
    "此事件没有到该 Webhook 的投递。GET /admin/api/events 列出每个事件的投递。",
  "{} connection tests are running. Retry soon.": "有 {1} 个连接测试正在运行。请稍后重试。",
  "Missing required parameter: 'model', for the test request that the vendor may bill.":
    "缺少必需参数：“model”，用于供应商可能计费的测试请求。",
  "Missing required parameter: 'modelKind'. The name does not show whether it is 'embedding' or 'image'.":
    "缺少必需参数：“modelKind”。从名称无法得知是 “embedding” 还是 “image”。",
  "Missing required parameter: '{}'.": "缺少必需参数：“{1}”。",
  "There is no model {}.": "没有模型 {1}。",
  "There is no image model {}.": "没有图像模型 {1}。",
  "There is no {} {}.": "没有 {1} {2}。",
  "Too many sign-ins at the same time. Try again soon.": "同时登录的次数过多。请稍后重试。",
  "Too many {}. Try again in {} seconds.": "{1}过多。请在 {2} 秒后重试。",
  "failed sign-ins": "登录失败次数",
  "sign-ins from your address": "来自您的地址的登录次数",
  "requests with a wrong admin token": "使用错误管理令牌的请求",
  "No webhook has this ID.": "没有 Webhook 使用此 ID。",
  "Invalid '{}': it must be a string.": "“{1}” 无效：必须是字符串。",
  "Invalid 'if-match': it must be the version of the entity, such as \"3\".":
    '“if-match” 无效：必须是实体的版本，例如 "3"。',
  "Invalid '{}': {}": "“{1}” 无效：{2}",
  "{} exists. Choose another id.": "{1} 已存在。请选择其他 ID。",
  "{} exists: it comes from {}. Choose another id.": "{1} 已存在：来自 {2}。请选择其他 ID。",
  "{} is defined in {}. Change it there: the gateway applies the file within a second.":
    "{1} 在 {2} 中定义。请在那里更改：网关会在一秒内应用该文件。",
  "{} comes from the environment variable {}. Change the variable and restart the gateway, or create an entity with another id.":
    "{1} 来自环境变量 {2}。请更改该变量并重启网关，或使用其他 ID 创建。",
  "{} is built into the gateway. Create an entity with another id.":
    "{1} 内置于网关。请使用其他 ID 创建。",
  "{} was deleted in the meantime.": "{1} 已被删除。",
  "{} has version {}, and your change is based on version {}. Reload it and repeat your change.":
    "{1} 的当前版本为 {2}，而您的更改基于版本 {3}。请重新加载后再次更改。",
  "You are not signed in, or your session has ended. Sign in, or send the admin token in the header Authorization: Bearer TOKEN.":
    "您尚未登录，或会话已结束。请登录，或在标头 Authorization: Bearer TOKEN 中发送管理令牌。",
  "The header {} is missing or wrong. It must be the csrf_token of GET /admin/api/session.":
    "标头 {1} 缺失或错误。它必须是 GET /admin/api/session 的 csrf_token。",
  "Requests from {} are not allowed. If this is the address of the console, set VEXEL_PUBLIC_URL to it.":
    "不允许来自 {1} 的请求。若这是控制台的地址，请将 VEXEL_PUBLIC_URL 设为它。",
  "The connection to the gateway was lost.": "与网关的连接已中断。",
  "No active API key has this id.": "没有此 ID 的有效 API 密钥。",
  "No job has this id.": "没有此 ID 的任务。",
  "The job is {}, and cannot be changed any more.": "任务的状态是 {1}，不能再更改。",
  "The job has no {} now.": "任务目前没有 {1}。",
  "The replicas of this gateway share a database, and no storage for jobs. Set BLOB_URL.":
    "此网关的副本共用数据库，但没有任务存储。请设置 BLOB_URL。",
  "must be a quality, a size such as 1024x1024 or <=1024x1024, or a quality and a size":
    "必须是质量、尺寸（如 1024x1024 或 <=1024x1024），或质量加尺寸",
  "each line must be a price, such as high 1024x1024 = 0.17":
    "每行必须是一个价格，例如 high 1024x1024 = 0.17",
};
