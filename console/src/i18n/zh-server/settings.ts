/** What each setting does, in Simplified Chinese. */
export const zhSettings: Readonly<Record<string, string>> = {
  PORT: "监听端口。",
  HOST: "监听地址。`0.0.0.0` 表示接受来自网络的连接。",
  VEXEL_CONFIG: "配置文件。默认文件可以不存在，在此指定的文件必须存在。",
  VEXEL_DATA:
    "数据目录：请求日志、API 密钥、临时文件、已保存的图像和响应；设置 `VEXEL_CACHE_PERSIST=disk` 时还包括缓存的向量。",
  DATABASE_URL:
    "PostgreSQL 数据库的 URL，例如 `postgres://user:password@host/database`。共用它的副本共享 API 密钥、配置、用户、会话、审计日志、事件和请求日志。需要 `VEXEL_SECRET`。留空则使用数据目录中的 SQLite 文件。",
  DATABASE_POOL_SIZE:
    "单个进程的最大数据库连接数。其中四分之一用于请求日志和用量查询，设置 `DATABASE_READ_URL` 时也是如此。",
  DATABASE_READ_URL:
    "数据库只读副本（热备）的 URL，用于管理 API 和控制台的请求日志与用量查询。留空则从 `DATABASE_URL` 读取。",
  REDIS_URL:
    "Redis 或 Valkey 服务器的 URL，例如 `redis://user:password@host:6379/0`，使用 TLS 时为 `rediss://`，使用哨兵时为 `redis+sentinel://host1:26379,host2:26379/mymaster`。共用它的副本共享限流、并发限制、预算、使用中的幂等键和缓存的向量。留空则各进程单独计数。",
  BLOB_URL:
    "S3 存储桶的 URL，例如 `s3://bucket/prefix?endpoint=https://minio.internal:9000`。共用它的副本共享图像链接、已保存的响应和内容。需要 `VEXEL_SECRET`。留空则使用数据目录中的文件。",
  VEXEL_WORKERS:
    "共用端口的工作进程数。大于 1 时需要 `DATABASE_URL`；使用限流、预算或非内置图像模型时还需要 `REDIS_URL`。",
  VEXEL_LOG_LEVEL: "最低日志级别。",
  VEXEL_LOG_FORMAT:
    "`auto`：在终端中输出易读的文本，其他情况输出 JSON。`json`：此外不输出启动信息，首次启动时也不创建 API 密钥，因为输出由程序读取，可能会被保存。",
  VEXEL_METRICS_PORT: "仅用于指标（`GET /metrics`）的端口，监听地址为 `HOST`。0 表示不启用。",
  VEXEL_METRICS_TOKEN:
    "在 `PORT` 上访问指标（`GET /metrics`）的令牌，在 `VEXEL_METRICS_PORT` 上也需要。至少 16 个字符。留空则 `PORT` 上不提供指标，`VEXEL_METRICS_PORT` 上无需令牌。",
  OTEL_EXPORTER_OTLP_ENDPOINT:
    "通过 OTLP/HTTP 接收链路追踪和指标的 OpenTelemetry Collector 的 URL，例如 `http://collector:4318`。留空则不导出。",
  OTEL_EXPORTER_OTLP_PROTOCOL: "导出链路追踪和指标时使用的编码。",
  OTEL_METRICS_EXPORTER: "`none`：不向 Collector 导出指标。",
  OTEL_TRACES_SAMPLER:
    "对哪些请求进行链路追踪。`parentbased_…`：如果客户端发送了 `traceparent`，则沿用其决定。状态码为 500 及以上的请求也会追踪，每秒最多 50 个。",
  OTEL_TRACES_SAMPLER_ARG: "`traceidratio` 的采样比例，从 0 到 1。",
  VEXEL_TLS_CERT: "TLS 证书文件（PEM 格式）。留空则使用未加密的 HTTP。",
  VEXEL_TLS_KEY: "TLS 证书的私钥文件（PEM 格式）。",
  VEXEL_PUBLIC_URL: "客户端访问网关的 URL，用于生成图像链接和邀请链接。留空则取自请求。",
  VEXEL_TRUSTED_PROXIES:
    "反向代理的 IP 地址和网段（CIDR），用逗号分隔。日志、审计日志和登录失败限制所用的客户端地址取自其 `X-Forwarded-For`，链接的协议取自其 `X-Forwarded-Proto`。留空则使用连接的地址。",
  VEXEL_CORS_ORIGINS: "允许浏览器跨域请求的来源（CORS），用逗号分隔，或 `*`。留空则不允许。",
  VEXEL_ADMIN_TOKEN:
    "管理令牌：脚本可用它访问管理 API（`/admin/api`），拥有全部权限。至少 16 个字符。留空则不启用。",
  VEXEL_SECRET:
    "用于保护已保存的凭证（例如上游的 API 密钥）并签名图像链接，两者的密钥均由它派生。至少 16 个字符，请使用随机文本。留空则在数据目录中生成 `secret.key` 和 `links.secret`。",
  VEXEL_SECRET_PREVIOUS:
    "`VEXEL_SECRET` 以前的值，用逗号分隔。在运行 `vexel config reencrypt` 之前用于解密已保存的凭证，并用于解密已保存的内容、验证用它们签名的图像链接。",
  VEXEL_END_USERS:
    "请求日志如何保存请求的终端用户（`user`、`safety_identifier`）：默认使用由 `VEXEL_SECRET` 派生的密钥计算哈希；`plain` 则按客户端发送的原文保存。",
  VEXEL_CONSOLE:
    "是否提供控制台（`/console`）并允许用户登录。`off`：没有会话，只能用管理令牌访问管理 API（`/admin/api`）。",
  VEXEL_CONSOLE_HOSTS:
    "允许浏览器打开控制台和管理 API 的主机名，用逗号分隔。`VEXEL_PUBLIC_URL` 的主机、`localhost` 和 IP 地址始终允许。留空则允许任意主机。",
  VEXEL_OIDC_ISSUER:
    "OpenID Connect 签发方的 URL，例如 `https://accounts.google.com`。留空则用户只能用密码登录控制台。",
  VEXEL_OIDC_CLIENT_ID: "Vexel 在签发方的客户端 ID。",
  VEXEL_OIDC_CLIENT_SECRET: "客户端密钥。留空则 Vexel 为公共客户端。",
  VEXEL_OIDC_NAME: "登录页按钮上显示的签发方名称。",
  VEXEL_OIDC_SCOPES: "请求的 Scope，用空格分隔。",
  VEXEL_OIDC_DOMAINS:
    "允许登录的邮箱域名，用逗号分隔，或 `*`。除非设置了 `VEXEL_OIDC_REQUIRED`，否则必填。",
  VEXEL_OIDC_TRUST_EMAIL:
    "当签发方（如 Microsoft Entra ID）不发送 `email_verified` 时，是否将邮箱视为已验证。",
  VEXEL_OIDC_CLAIM: "包含用户的组或角色的声明（claim）。用点号访问对象成员：`realm_access.roles`。",
  VEXEL_OIDC_REQUIRED: "声明的值，用逗号分隔。只有具备其中之一的用户才能登录。留空则不限制。",
  VEXEL_OIDC_ROLES:
    "声明的值与角色的对应关系，格式为 `VALUE=ROLE`，用逗号分隔。每次登录时取最高的角色。留空则由管理员在控制台中设置角色。",
  VEXEL_OIDC_ROLE: "没有对应角色的用户的角色。`none`：不允许登录。",
  VEXEL_OIDC_PROJECTS:
    "声明的值与项目的对应关系，格式为 `VALUE=PROJECT`，用逗号分隔；`VALUE=*` 表示所有项目。每次登录时生效。留空则由管理员在控制台中设置项目，新用户没有项目。",
  VEXEL_MAX_BODY_BYTES: "JSON 请求体的最大字节数，不含图像编辑请求或向量请求中的图像。",
  VEXEL_JSON_MEMORY_BYTES: "处理中的所有请求的 JSON 请求体最多可占用的内存，由各 API 密钥分摊。",
  VEXEL_RESPONSE_MEMORY_BYTES:
    "处理中的所有请求的大型向量响应最多可占用的内存，由各 API 密钥分摊。",
  VEXEL_MAX_FILE_BYTES: "上传文件的最大字节数。",
  VEXEL_MAX_UPLOAD_BYTES:
    "multipart 表单（例如 `/v1/files` 的文件）所有部分的最大总字节数，也适用于向量请求中的图像。",
  VEXEL_TEMP_STORAGE_BYTES:
    "所有请求的临时文件（上传内容和较大的上游响应）最多可占用的磁盘空间，由各 API 密钥分摊。",
  VEXEL_MAX_INPUTS: "单个向量请求的最大输入数。OpenAI 允许 2048 个。",
  VEXEL_MAX_CONCURRENT: "处理中的最大请求数，包括排队的请求。",
  VEXEL_MAX_CONNECTIONS: "最大客户端连接数，包括空闲连接。0：按打开文件数的上限，最多 10000。",
  VEXEL_MAX_IMAGE_REQUESTS: "同时处理的最大图像请求数，以便为向量请求留出容量。",
  VEXEL_MAX_QUEUE: "等待并发名额的最大排队请求数。0：不排队，没有空闲名额的请求返回 429。",
  VEXEL_QUEUE_TIMEOUT: "向量请求排队等待并发名额的最长秒数。图像请求最多等待 30 秒。",
  VEXEL_BODY_TIMEOUT:
    "接收请求体时，连续多少秒未收到数据即超时。等待达到该秒数之后，请求体的平均速率还须至少为每秒 16 KiB。",
  VEXEL_EMBEDDINGS_TIMEOUT: "向量请求的超时秒数。",
  VEXEL_IMAGES_TIMEOUT: "图像请求的超时秒数。",
  VEXEL_RESPONSE_TTL: "响应保存的秒数，供使用相同 Idempotency-Key 的重试或已断开连接的客户端获取。",
  VEXEL_IMAGE_JOB_TIMEOUT: "图像任务超过多少秒未结束即失败。",
  VEXEL_JOBS_TTL: "任务结束后，任务及其结果保存的秒数。",
  VEXEL_JOBS_MAX_BYTES:
    "所有已保存任务的输入和结果的最大总字节数，其中未完成的任务最多 10,000 个。单个项目最多各占一半。",
  VEXEL_RESPONSES_MAX_BYTES: "已保存的响应最多可占用的磁盘空间。",
  VEXEL_CONTENT_MAX_BYTES:
    "为设置了 storeContent 的模型保存请求内容时，最多可占用的磁盘空间；设置 BLOB_URL 时为对象存储空间。",
  VEXEL_DRAIN_TIMEOUT: "停机时等待处理中的请求的最长秒数。已发往上游的图像请求会一直等到完成。",
  VEXEL_CACHE_BYTES: "向量缓存的内存大小。0 表示不缓存。",
  VEXEL_CACHE_PERSIST:
    "缓存的向量保存在哪里：`memory` 仅在内存中，网关停止后丢失；`disk` 同时写入磁盘，重启后保留。",
  VEXEL_CACHE_TTL: "缓存的向量多少秒后过期。0 表示永不过期。",
  VEXEL_CACHE_REDIS_TTL:
    "设置 `REDIS_URL` 时：向量在 Redis 中缓存的秒数，供所有副本使用。0：仅由各副本自行缓存。",
  VEXEL_BATCH_WAIT_MS: "目标繁忙时，小的向量请求等待合并为微批次的最长毫秒数。0 表示关闭微批处理。",
  VEXEL_CANARY_HOURS:
    "两次漂移检查之间的小时数。漂移检查会比较向量模型各目标的向量。0 表示不检查。",
  VEXEL_ON_LEDGER_ERROR:
    "请求日志无法写入时：`refuse` 拒绝请求（503）；`serve` 继续服务，并在响应头 `vexel-ledger` 和日志中报告。",
  VEXEL_LEDGER_DAYS: "请求日志的保留天数。0 表示永久保留。",
  VEXEL_LEDGER_EXPORT:
    "`on`：每小时将请求日志从 `DATABASE_URL` 导出到 `BLOB_URL`，导出后才会删除。",
  VEXEL_LEDGER_EXPORT_PERCENT: "导出的请求日志的百分比，从请求中随机抽样。汇总统计包含所有请求。",
  VEXEL_AUDIT_DAYS: "审计日志的保留天数。0 表示永久保留。",
  VEXEL_LEDGER_MAX_BYTES:
    "`ledger.db` 的最大字节数。超过后请求日志无法写入，与磁盘已满时相同。0 表示不限制。",
  VEXEL_IMAGE_TTL: "已保存图像的链接的有效秒数。",
  VEXEL_IMAGES_MAX_BYTES: "已保存的图像最多可占用的磁盘空间。",
  VEXEL_FILES_MAX_BYTES:
    "`/v1/files` 所有文件的最大总字节数，包括批处理的结果。单个项目（或无项目的单个 API 密钥）最多占一半。设置 `BLOB_URL` 时为对象存储空间。",
  VEXEL_FILES_DAYS: "批处理的输入和输出文件的保留天数，除非请求另有指定。0：保留到被删除为止。",
  VEXEL_BATCH_MAX_BYTES: "批处理输入文件的最大字节数。",
  VEXEL_BATCH_MAX_LINES:
    "批处理的最大行数，也是所有行的向量输入总数上限。仅在前 100,000 行中检查重复的 custom_id。",
  VEXEL_DOWNLOAD_PRIVATE:
    "允许下载图像的内网主机，格式为 `host` 或 `host:port`，用逗号分隔。留空则仅允许上游自身的主机。",
  VEXEL_WEBHOOK_PRIVATE:
    "客户端的 Webhook 可使用的内网主机（也允许 http），格式为 `host` 或 `host:port`，用逗号分隔。留空则不允许。",
  VEXEL_SMTP_URL:
    "通过邮件发送告警和其他事件的邮件服务器的 URL，例如 `smtp://user:password@mail.example:587`，直接使用 TLS 时为 `smtps://`。留空则不发送邮件。",
  VEXEL_SMTP_FROM: "事件邮件的发件人地址。",
};
