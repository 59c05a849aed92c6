-- The question to AgentGate, for HAProxy 2.6 or later. Set nothing here; what differs is in the configuration.

-- These are about the connection or the body, which is not sent, or are AgentGate's own.
local NOT_SENT = {
    ["host"] = true, ["authorization"] = true, ["connection"] = true, ["keep-alive"] = true, ["upgrade"] = true,
    ["expect"] = true, ["te"] = true, ["trailer"] = true, ["proxy-authorization"] = true, ["content-length"] = true,
    ["transfer-encoding"] = true, ["content-encoding"] = true,
}
local TOLD = { "crawler-price", "crawler-error", "crawler-charged", "accept-signature" }
local MORE_TOLD = { "retry-after", "x-service-reason", "x-service-decision-id", "x-service-message" }
local NOT_TOLD = { ["connection"] = true, ["keep-alive"] = true, ["transfer-encoding"] = true, ["content-length"] = true, ["x-service-decision"] = true }
local LARGEST_FORM = 65000

local function question(txn, target)
    local lines = {
        "GET " .. target .. " HTTP/1.1",
        "Host: agentgate",
        "Authorization: Bearer " .. txn:get_var("txn.agentgate_secret"),
        "X-Original-Method: " .. txn.f:method(),
        "X-Original-URL: " .. txn:get_var("txn.agentgate_origin") .. txn.f:pathq(),
        "X-Original-Address: " .. txn.f:src(),
        "Connection: close",
    }
    for line in txn.f:req_hdrs():gmatch("([^\r\n]+)\r\n") do
        local name = line:match("^([^:]+):")
        if name and not NOT_SENT[name:lower()] then
            lines[#lines + 1] = line
        end
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

local function ask(txn, address, target)
    local socket = core.tcp()
    socket:settimeout(2)
    if not socket:connect(address) then
        return nil
    end
    socket:send(question(txn, target))
    local first = socket:receive("*l")
    local status = first and tonumber(first:match("^HTTP/1%.[01] (%d%d%d)"))
    local headers = {}
    while status do
        local line = socket:receive("*l")
        if not line then
            status = nil
        elseif line == "" or line == "\r" then
            break
        else
            local name, value = line:match("^([^:]+):%s*(.-)%s*$")
            if name then
                headers[name:lower()] = value
            end
        end
    end
    local length = tonumber(headers["content-length"])
    local body = status and length and length > 0 and socket:receive(length) or ""
    socket:close()
    return status, headers, body
end

local function takes_page(txn)
    local length = txn.f:req_hdr("content-length")
    if txn.f:req_hdr("transfer-encoding") or txn.f:req_hdr("content-encoding") then
        return false
    elseif txn.f:method() == "GET" then
        return not length or length == "0"
    end
    return txn.f:method() == "POST" and tonumber(length) and tonumber(length) < LARGEST_FORM
end

local function tell(txn, status, headers)
    local sent = { ["content-type"] = { "application/json" }, ["cache-control"] = { "no-store" } }
    for _, names in ipairs({ TOLD, MORE_TOLD }) do
        for _, name in ipairs(names) do
            if headers[name] then
                sent[name] = { headers[name] }
            end
        end
    end
    local body = '{"decision":"%s","reason":"%s"}'
    body = body:format(headers["x-service-decision"] or "block", headers["x-service-reason"] or "")
    txn:done(txn:reply({ status = status, headers = sent, body = body }))
end

-- A form that is too large to be carried: the page is told that there was one, and asks to send it again.
local function show_without_form(txn, address, told)
    local target = ("/v1/gateway/challenge?reason=%s&decision=%s&decisionId=%s"):format(told["x-service-reason"] or "",
        told["x-service-decision"] or "", told["x-service-decision-id"] or "")
    local status, headers, body = ask(txn, address, target)
    if status ~= 401 and status ~= 403 then
        return
    end
    local sent = {}
    for _, name in ipairs(TOLD) do
        if told[name] then
            sent[name] = { told[name] }
        end
    end
    for name, value in pairs(headers) do
        if not NOT_TOLD[name] then
            sent[name] = { value }
        end
    end
    txn:done(txn:reply({ status = status, headers = sent, body = body }))
end

core.register_action("agentgate", { "http-req" }, function(txn, address)
    local status, headers = ask(txn, address, "/v1/gateway/check")
    local is_allowed = status and status >= 200 and status <= 299
    if not is_allowed and status ~= 401 and status ~= 403 then
        return
    end
    txn:set_var("txn.agentgate_decision", headers["x-service-decision"] or "")
    txn:set_var("txn.agentgate_reason", headers["x-service-reason"] or "")
    local names = { id = "x-service-decision-id", price = TOLD[1], error = TOLD[2], charged = TOLD[3], signature = TOLD[4] }
    for short, name in pairs(names) do
        if headers[name] then
            txn:set_var("txn.agentgate_" .. short, headers[name])
        end
    end
    if is_allowed then
        txn:set_var("txn.agentgate_to", "site")
    elseif headers["x-service-drop"] == "1" then
        txn:set_var("txn.agentgate_to", "drop")
    elseif headers["x-service-status"] then
        tell(txn, tonumber(headers["x-service-status"]) or status, headers)
    elseif headers["x-service-reason"] == "rate_limited" then
        tell(txn, 429, headers)
    elseif headers["x-service-reason"] == "payment_required" then
        tell(txn, 402, headers)
    elseif takes_page(txn) then
        txn:set_var("txn.agentgate_to", "page")
    elseif txn.f:method() == "POST" then
        show_without_form(txn, address, headers)
    else
        tell(txn, status, headers)
    end
end, 1)
