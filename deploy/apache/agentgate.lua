-- The question to AgentGate, for Apache 2.4 with mod_lua and Debian's package lua-socket.

-- SET 1: where AgentGate listens.
local SERVICE_NAME, SERVICE_PORT = "127.0.0.1", 8080
-- SET 2: this site's secret. Beside it, the origin as visitors see it.
local SECRET = "ags_PUT_THE_SECRET_OF_THIS_SITE_HERE"
local ORIGIN = "https://shop.example"

local socket = require "socket"

local SERVICE = "127.0.0.1:8080"
local THIS_FILE = debug.getinfo(1, "S").source:match("^@(.+)$")
local TIMEOUT_S = 1
local LARGEST_FORM, LARGEST_OWN = 65000, 262144

-- These are about the connection or the body, which is not sent, or are AgentGate's own.
local NOT_SENT = {
    ["host"] = true, ["authorization"] = true, ["connection"] = true, ["keep-alive"] = true, ["upgrade"] = true,
    ["expect"] = true, ["te"] = true, ["trailer"] = true, ["proxy-authorization"] = true, ["content-length"] = true,
    ["transfer-encoding"] = true, ["content-encoding"] = true,
}
local TOLD = { "crawler-price", "crawler-error", "crawler-charged", "accept-signature" }
local MORE_TOLD = { "retry-after", "x-service-reason", "x-service-decision-id", "x-service-message" }
local NOT_TOLD = { ["connection"] = true, ["keep-alive"] = true, ["transfer-encoding"] = true, ["content-length"] = true, ["content-type"] = true, ["x-service-decision"] = true }
local DOWN_PAGE = [[<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>Try again in a moment</title></head><body><main style="max-width:26rem;margin:15vh auto;padding:1.5rem;font:16px/1.5 system-ui,sans-serif"><h1 style="font-size:22px;line-height:1.3">Try again in a moment</h1><p>This site cannot check requests right now.</p><p><a href="" onclick="location.reload();return false" style="display:inline-block;padding:10px 20px;border:1px solid;border-radius:8px;color:inherit;font-weight:600;text-decoration:none">Try again</a></p></main></body></html>]]
local OWN = {
    "^/v1/gateway/challenge$", "^/v1/gateway/pass$", "^/v1/gateway/replay$", "^/v1/browser/[%w_-]+$", "^/sdk/[%w_./-]+$",
}

local kept = nil
local random = io.open("/dev/urandom", "rb")

-- Only this proxy speaks for AgentGate, or says where a visitor came from. A name with an underscore or a dot is read by many programs as one without,
-- and mod_proxy takes out of a request whatever its Connection header names.
local function clean(r)
    for name in pairs(r:headers_in_table()) do
        local lower = name:lower()
        if lower:find("[^%w-]") or lower:find("^x%-original%-") or lower:find("^x%-service%-")
            or lower:find("^x%-forwarded") or lower == "x-agentgate-secret" or lower == "x-ja4" or lower == "forwarded"
            -- With it a server may take a connection for HTTP/2.
            or lower == "http2-settings"
            -- Some frameworks take this path in place of the one that was checked.
            or lower == "x-rewrite-url" then
            r.headers_in[name] = nil
        end
    end
    -- The decision carries it, and so does the request to your site. Leave it out where a proxy before makes them.
    r.headers_in["X-Request-Id"] = random:read(16):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
    -- A WebSocket is the one upgrade that is passed on: h2c would be a tunnel that AgentGate is not asked about.
    if (r.headers_in["Upgrade"] or ""):lower() ~= "websocket" then
        r.headers_in["Upgrade"] = nil
    end
    local connection = "," .. (r.headers_in["Connection"] or ""):lower():gsub("%s", "") .. ","
    if connection:find(",upgrade,", 1, true) and r.headers_in["Upgrade"] then
        r.headers_in["Connection"] = "Upgrade"
    elseif connection:find(",close,", 1, true) then
        r.headers_in["Connection"] = "close"
    else
        r.headers_in["Connection"] = nil
    end
end

local function question(r, target, asked)
    local names = {}
    for name in pairs(r:headers_in_table()) do
        if not NOT_SENT[name:lower()] then
            names[#names + 1] = name
        end
    end
    -- Their order is lost in a table; sorted, it says so.
    table.sort(names, function(left, right) return left:lower() < right:lower() end)
    local lines = {
        "GET " .. (asked or "/v1/gateway/check") .. " HTTP/1.1",
        "Host: " .. SERVICE,
        "Authorization: Bearer " .. SECRET,
        "X-Original-Method: " .. r.method,
        "X-Original-URL: " .. ORIGIN .. target,
        "X-Original-Address: " .. r.useragent_ip,
    }
    for _, name in ipairs(names) do
        lines[#lines + 1] = name .. ": " .. r.headers_in[name]
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

local function read_answer(connection)
    local first = connection:receive("*l")
    local status = first and tonumber(first:match("^HTTP/1%.1 (%d%d%d)"))
    if not status then
        return nil
    end
    local headers = {}
    while true do
        local line = connection:receive("*l")
        if not line then
            return nil
        elseif line == "" then
            break
        end
        local name, value = line:match("^([^:]+):%s*(.-)%s*$")
        if name then
            headers[name:lower()] = value
        end
    end
    local length, body = tonumber(headers["content-length"] or "0"), ""
    if length > 0 then
        body = connection:receive(length)
        if not body then
            return nil
        end
    end
    return status, headers, body
end

local function ask(text)
    -- A kept connection may have been closed meanwhile, which is no answer; a new one is asked once.
    for attempt = 1, 2 do
        local connection, is_new = kept, false
        kept = nil
        if not connection then
            connection, is_new = socket.tcp(), true
            connection:settimeout(TIMEOUT_S, "t")
            if not connection:connect(SERVICE_NAME, SERVICE_PORT) then
                return nil
            end
        end
        local started_s = socket.gettime()
        connection:settimeout(TIMEOUT_S, "t")
        local status, headers, body
        if connection:send(text) then
            status, headers, body = read_answer(connection)
        end
        if status then
            if (headers["connection"] or ""):lower() ~= "close" then
                kept = connection
            else
                connection:close()
            end
            return status, headers, body
        end
        connection:close()
        if is_new or socket.gettime() - started_s > TIMEOUT_S / 2 then
            return nil
        end
    end
end

local function takes_page(r)
    local length = r.headers_in["Content-Length"]
    if r.headers_in["Transfer-Encoding"] or r.headers_in["Content-Encoding"] then
        return false
    elseif r.method == "GET" then
        return not length or length == "0"
    end
    return r.method == "POST" and tonumber(length) and tonumber(length) < LARGEST_FORM
end

local function pass_to_service(r, target, path, query)
    r.headers_in["Authorization"] = "Bearer " .. SECRET
    r.headers_in["X-Original-Method"] = r.method
    r.headers_in["X-Original-URL"] = ORIGIN .. target
    r.headers_in["X-Original-Address"] = r.useragent_ip
    r.headers_in["X-Forwarded-For"] = r.useragent_ip
    r.headers_in["X-Forwarded-Proto"] = "https"
    r.headers_in["Upgrade"] = nil
    r.subprocess_env["agentgate_speaks"] = "1"
    r.proxyreq = apache2.PROXYREQ_REVERSE
    r.handler = "proxy-server"
    r.filename = "proxy:http://" .. SERVICE .. path
    if query then
        r.args = query
    end
    return apache2.OK
end

-- Whether a person looks at the answer, where AgentGate cannot be asked.
local function is_person(r)
    local mode, accept = r.headers_in["Sec-Fetch-Mode"], (r.headers_in["Accept"] or ""):lower()
    if (r.headers_in["X-Requested-With"] or ""):lower() == "xmlhttprequest" then
        return false
    elseif mode == "navigate" then
        return true
    elseif mode then
        return mode == "same-origin" and accept:find("^text/html") ~= nil
    end
    return (accept:find("text/html", 1, true) or accept:find("application/xhtml", 1, true)
        or accept:find("vnd.wap.", 1, true)) ~= nil
end

local function tell(r, status, headers)
    r.notes["agentgate_status"] = tostring(status)
    r.notes["agentgate_body"] = ('{"decision":"%s","reason":"%s"}'):format(
        headers["x-service-decision"] or "block", headers["x-service-reason"] or "service_unavailable")
    if status == 503 and not headers["x-service-decision"] and is_person(r) then
        r.notes["agentgate_body"], r.notes["agentgate_type"] = DOWN_PAGE, "text/html; charset=utf-8"
    end
    for _, name in ipairs(MORE_TOLD) do
        if headers[name] then
            r.err_headers_out[name] = headers[name]
        end
    end
    if r.method == "HEAD" then
        -- mod_lua runs no script for it, and would answer 200.
        return status
    end
    r.handler = "lua-script"
    r.filename = THIS_FILE
    return apache2.OK
end

-- Called in place of the site for those that are not let through.
function handle(r)
    r.status = tonumber(r.notes["agentgate_status"] or "403")
    r.content_type = r.notes["agentgate_type"] or "application/json"
    r.err_headers_out["Cache-Control"] = "no-store"
    r:puts(r.notes["agentgate_body"] or "{}")
    return apache2.OK
end

-- A form that is too large to be carried: the page is told that there was one, and asks to send it again.
local function show_without_form(r, target, query)
    local status, headers, body = ask(question(r, target, "/v1/gateway/challenge?" .. query))
    if status ~= 401 and status ~= 403 then
        return tell(r, 503, { ["retry-after"] = "5" })
    end
    r.notes["agentgate_status"], r.notes["agentgate_body"] = tostring(status), body
    r.notes["agentgate_type"] = headers["content-type"]
    for name, value in pairs(headers) do
        if not NOT_TOLD[name] then
            r.err_headers_out[name] = value
        end
    end
    r.subprocess_env["agentgate_speaks"] = "1"
    r.handler = "lua-script"
    r.filename = THIS_FILE
    return apache2.OK
end

local function decide(r, target)
    local status, headers = ask(question(r, target))
    local is_allowed = status and status >= 200 and status <= 299
    if not is_allowed and status ~= 401 and status ~= 403 then
        return tell(r, 503, { ["retry-after"] = "5" })
    end
    for _, name in ipairs(TOLD) do
        if headers[name] then
            r.err_headers_out[name] = headers[name]
        end
    end
    if is_allowed then
        r.headers_in["X-Service-Decision"] = headers["x-service-decision"]
        r.headers_in["X-Service-Decision-Id"] = headers["x-service-decision-id"]
        r.headers_in["X-Forwarded-For"] = r.useragent_ip
        r.headers_in["X-Forwarded-Host"] = r.headers_in["Host"]
        r.headers_in["X-Forwarded-Proto"] = "https"
        return apache2.DECLINED
    elseif headers["x-service-drop"] == "1" then
        -- mod_lua cannot close a connection without an answer.
        r.err_headers_out["Connection"] = "close"
        return tell(r, 403, headers)
    elseif headers["x-service-status"] then
        return tell(r, tonumber(headers["x-service-status"]) or status, headers)
    elseif headers["x-service-reason"] == "rate_limited" then
        return tell(r, 429, headers)
    elseif headers["x-service-reason"] == "payment_required" then
        return tell(r, 402, headers)
    end
    local query = ("reason=%s&decision=%s&decisionId=%s"):format(headers["x-service-reason"] or "",
        headers["x-service-decision"] or "", headers["x-service-decision-id"] or "")
    if takes_page(r) then
        return pass_to_service(r, target, "/v1/gateway/challenge", query)
    elseif r.method == "POST" then
        return show_without_form(r, target, query)
    end
    return tell(r, status, headers)
end

function agentgate(r)
    clean(r)
    local target = r.unparsed_uri
    r.subprocess_env["agentgate_answered"] = "1"
    if target:sub(1, 1) ~= "/" then
        return tell(r, 400, { ["x-service-reason"] = "invalid_request" })
    end
    local path = target:match("^/%.agentgate(/[^?]*)")
    if not path then
        return decide(r, target)
    end
    for _, pattern in ipairs(OWN) do
        local is_small = (tonumber(r.headers_in["Content-Length"] or "0") or math.huge) <= LARGEST_OWN
        if path:find(pattern) and is_small and not r.headers_in["Transfer-Encoding"] then
            return pass_to_service(r, target, path)
        end
    end
    return tell(r, 404, { ["x-service-reason"] = "not_found" })
end
