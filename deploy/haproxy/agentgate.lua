-- Asks AgentGate about a request. Set nothing here.
local NOT_SENT = " connection content-length transfer-encoding expect te upgrade x-agentgate-request "

core.register_action("agentgate", { "http-req" }, function(txn, address)
    local socket, status, headers = core.tcp(), nil, {}
    socket:settimeout(2)
    if socket:connect(address) then
        local lines = { "GET /v1/gateway/check?respond=denial HTTP/1.1", "X-AgentGate-Request: " .. txn:get_var("txn.request") }
        for line in txn.f:req_hdrs():gmatch("([^\r\n]+)\r\n") do
            if not NOT_SENT:find(" " .. line:match("^[^:]*"):lower() .. " ", 1, true) then lines[#lines + 1] = line end
        end
        socket:send(table.concat(lines, "\r\n") .. "\r\nConnection: close\r\n\r\n")
        status = (socket:receive("*l") or ""):match("^HTTP/1%.[01] (%d%d%d)")
        for line in function() return socket:receive("*l") end do
            local name, value = line:match("^([^:]+):%s*(.-)%s*$")
            if not name then break end
            headers[name:lower()] = value
        end
        socket:close()
    end
    local kind, denial = (status or "5"):sub(1, 1), ""    -- Empty: AgentGate rejects the request itself, such as one that is too large.
    if kind == "2" or status == "401" then
        txn:set_var("txn.id", headers["x-service-decision-id"] or "")
        txn:set_var("txn.reason", headers["x-service-reason"] or "")
        denial = headers["x-service-denial"] or "none"
    end
    if kind == "2" or kind == "5" and txn:get_var("txn.unavailable") == "open" then txn:unset_var("txn.denial") elseif kind ~= "5" then txn:set_var("txn.denial", denial) end
end, 1)
