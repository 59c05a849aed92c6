-- Asks AgentGate about a request, for Apache 2.4 with mod_lua and lua-socket.
local PATH, HOST, PORT = "", "127.0.0.1", 8080
local SECRET = "ags_PUT_THE_SECRET_OF_THIS_SITE_HERE"
local UNAVAILABLE = "open"    -- If AgentGate is unavailable: open lets requests through, closed returns 503.
local socket = require "socket"
local OURS, NOT_SENT = " x-agentgate-request x-agentgate-secret http2-settings ", " connection content-length transfer-encoding expect te upgrade "
local function ask(r, request)
    local connection = PATH == "" and socket.tcp() or require "socket.unix" ()
    connection:settimeout(1, "t")
    if not connection:connect(PATH == "" and HOST or PATH, PATH == "" and PORT or nil) then return nil end
    local lines, first = {}, "GET /v1/gateway/check?respond=denial HTTP/1.1\r\nX-AgentGate-Secret: "
    for name, value in pairs(r:headers_in_table()) do
        if not NOT_SENT:find(" " .. name:lower() .. " ", 1, true) then lines[#lines + 1] = name .. ": " .. value end
    end
    table.sort(lines, function(one, other) return one:lower():match("[^:]+") < other:lower():match("[^:]+") end)
    connection:send(first .. SECRET .. "\r\nX-AgentGate-Request: " .. request .. "\r\n" .. table.concat(lines, "\r\n") .. "\r\n\r\n")
    local status, headers = (connection:receive("*l") or ""):match("^HTTP/1%.[01] (%d%d%d)"), {}
    for line in function() return connection:receive("*l") end do
        local name, value = line:match("^([^:]+):%s*(.-)%s*$")
        if not name then break end
        headers[name:lower()] = value
    end
    connection:close()
    return status, headers
end
local function pass_to_agentgate(r, request, path, query)
    r.headers_in["X-AgentGate-Secret"], r.headers_in["X-AgentGate-Request"] = SECRET, request
    r.proxyreq, r.handler, r.filename = apache2.PROXYREQ_REVERSE, "proxy-server", ("proxy:http://127.0.0.1:8080%s"):format(path)
    if query then r.args = query end
    if r.headers_in["Transfer-Encoding"] then r.headers_in["Transfer-Encoding"] = "chunked" end    -- mod_proxy sends no other.
    return apache2.OK
end
function agentgate(r)
    if not r.is_initial_req then return apache2.DECLINED end
    for name in pairs(r:headers_in_table()) do
        local lower = name:lower()
        if name:find("[^%w-]") or lower:find("^x%-service%-") or OURS:find(" " .. lower .. " ", 1, true) then
            r.headers_in[name] = nil
        end
    end
    -- mod_proxy removes what Connection names, also our own headers. WebSocket is the only upgrade.
    if (r.headers_in["Upgrade"] or ""):lower() ~= "websocket" then r.headers_in["Upgrade"] = nil end
    r.headers_in["Connection"] = r.headers_in["Upgrade"] and "upgrade" or (r.headers_in["Connection"] or ""):lower():match("close")
    local target, host = r.unparsed_uri, (r.headers_in["Host"] or ""):gsub("%s", "_")
    if target:sub(1, 1) ~= "/" then return 400 end
    local request = ("%s %s host=%s %s%s"):format(r.method, r.useragent_ip, host, "https://shop.example", target)
    local own = target:match("^/%.agentgate/[^?]*")
    if own then return pass_to_agentgate(r, request, own) end
    local status, headers = ask(r, request)
    local denial = headers and headers["x-service-denial"]
    if status and status:sub(1, 1) == "2" then
        r.headers_in["X-Service-Decision"] = headers["x-service-decision"]
        r.headers_in["X-Service-Decision-Id"] = headers["x-service-decision-id"]
    elseif status == "401" and denial and #denial < 10 then    -- One word: block, challenge or drop.
        for _, name in ipairs { "x-service-reason", "x-service-decision-id" } do r.err_headers_out[name] = headers[name] end
        return denial == "challenge" and 401 or 403
    elseif status and status:sub(1, 1) ~= "5" then
        return pass_to_agentgate(r, request, "/v1/gateway/denied", "d=" .. (denial or "none"))
    elseif UNAVAILABLE ~= "open" then
        return 503
    end
    return apache2.DECLINED
end
